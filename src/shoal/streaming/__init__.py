"""STREAM: tables in files that are larger than memory, on one machine; the frequencies are held, not the rows."""

from shoal.streaming.anonymize import Written, anonymize_file
from shoal.streaming.audit import audit_file
from shoal.streaming.budget import Budget

__all__ = ["Budget", "Written", "anonymize_file", "audit_file"]
