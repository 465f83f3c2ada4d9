"""Statistics of original against published: what a reader of the release would find that is no longer so.

Not entries of the catalog: a loss is one number for a search to minimize, these are results for people to read.

=====================  ===================================================================================
:mod:`.standing`       what stands for a published range or label
:mod:`.samples`        two-sample tests: Kolmogorov–Smirnov, Welch t, F
:mod:`.distributions`  distance of the empirical distribution functions, in one and in several dimensions
:mod:`.histograms`     shares before and after, in bins that give nobody away
:mod:`.clusters`       cluster utility: do clusters hold as many original as published records?
:mod:`.correlations`   associations of all pairs of columns, before and after
:mod:`.eigenvalues`    how far the eigenvalues of the correlations moved
:mod:`.regressions`    each number column by the others: do the coefficients' intervals overlap?
:mod:`.propensity`     pMSE: can published records be told from original ones?
:mod:`.deviations`     SSE / SST and IL1s, of records that are known to belong together
:mod:`.queries`        random range counts: how wrong is the answer of the release?
:mod:`.learning`       trained on the release, tested on the original (needs the extra ``ml``)
=====================  ===================================================================================
"""

from shoal.encoding.types import Floats
from shoal.utility.statistics.samples import Sample, SampleTest, kolmogorov_smirnov, variance_ratio, welch
from shoal.utility.statistics.standing import Standing, numbers

__all__ = ["Floats", "Sample", "SampleTest", "Standing", "kolmogorov_smirnov", "numbers", "variance_ratio", "welch"]
