"""POLICY: what a data owner decides, as one frozen value that is a YAML file too.

``policy`` is the value, ``consistency`` what its parts must be to each other, ``roles`` what a column may be,
``outputs`` the forms of a release, ``presets`` what offices and laws ask for, ``disclosure_weights`` what a request
weighs. How the file is read is :class:`ReadOptions`.
"""

from shoal.encoding.read_options import ReadOptions
from shoal.policy.policy import Policy, Relaxation
from shoal.policy.roles import QuasiIdentifier, Sensitive

__all__ = ["Policy", "QuasiIdentifier", "ReadOptions", "Relaxation", "Sensitive"]
