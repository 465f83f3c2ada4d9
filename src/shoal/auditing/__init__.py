"""AUDIT: the published table counted again, by code that the search does not share."""

from shoal.auditing.fidelity import Fidelity
from shoal.auditing.roles import Roles
from shoal.auditing.verdict import Audit, ModelAudit, audit

__all__ = ["Audit", "Fidelity", "ModelAudit", "Roles", "audit"]
