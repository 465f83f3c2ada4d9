"""AUDIT: the published table counted again, by code that the search does not share."""

from shoal.auditing.attacks import AttackPlan
from shoal.auditing.audit import audit_table
from shoal.auditing.audit_policy import Roles
from shoal.auditing.fidelity import Fidelity
from shoal.auditing.original import OriginalTable
from shoal.auditing.outputs import CompanionTable
from shoal.auditing.owner import OwnerView
from shoal.auditing.verdict import Audit, ModelAudit

__all__ = [
    "AttackPlan",
    "Audit",
    "CompanionTable",
    "Fidelity",
    "ModelAudit",
    "OriginalTable",
    "OwnerView",
    "Roles",
    "audit_table",
]
