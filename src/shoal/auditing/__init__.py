"""AUDIT: the published table counted again, by code that the search does not share."""

from shoal.auditing.verdict import Audit, ModelAudit, audit

__all__ = ["Audit", "ModelAudit", "audit"]
