"""AUDIT: the published table counted again, by code that the search does not share."""

from shoal.auditing.audit import Audit, ModelAudit, audit

__all__ = ["Audit", "ModelAudit", "audit"]
