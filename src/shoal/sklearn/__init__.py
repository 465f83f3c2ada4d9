"""A door: training data in pipelines of scikit-learn."""

from shoal.sklearn.anonymizer import Anonymizer

__all__ = ["Anonymizer"]
