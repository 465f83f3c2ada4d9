"""STREAM: tables in files that are larger than memory, on one machine; the frequencies are held, not the rows."""

from shoal.engines.files.anonymize import Written, anonymize_file
from shoal.engines.files.audit import audit_file
from shoal.engines.files.budget import Budget

__all__ = ["Budget", "Written", "anonymize_file", "audit_file"]
