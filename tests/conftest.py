"""Property tests draw the same cases on every run; ``HYPOTHESIS_PROFILE=explore`` draws new ones."""

from __future__ import annotations

import os

from hypothesis import settings

from shoal.engines import fingerprint

# thousands of releases are made here: their manifests need not be slow to guess against
fingerprint.STRETCH = 2**4
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
