"""POLICY: what a data owner decides, as one frozen value that is a YAML file too.

``policy`` is the value, ``consistency`` what its parts must be to each other, ``roles`` what a column may be,
``outputs`` the forms of a release, ``presets`` what offices and laws ask for, ``disclosure_weights`` what a request
weighs.
"""

from shoal.policy.policy import Policy
from shoal.policy.relaxation import Relaxation
from shoal.policy.roles import QuasiIdentifier, Sensitive

__all__ = ["Policy", "QuasiIdentifier", "Relaxation", "Sensitive"]
