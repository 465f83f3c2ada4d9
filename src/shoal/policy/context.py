"""Context: what the owner states of a release that no count can tell; for boards, printed and never computed with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from shoal.registry import Frozen

NOT_STATED = "not stated"
"""What stands in report and audit where the owner says nothing."""

Words = Annotated[str, Field(min_length=1, max_length=2_000)]


class Variable(Frozen):
    """What the owner states of one column, where the policy's roles do not say it, or not all of it.

    Examples
    --------
    >>> Variable(reason="anybody who saw the patient knows it").technique is None
    True
    """

    identifier: Literal["direct", "indirect", "none"] | None = None
    """Whether the column identifies a person by itself, together with others, or not; by its role where not stated."""
    technique: Words | None = None
    """What was done to the column; by its role, hierarchy and treatment where not stated."""
    reason: Words | None = None
    """Why."""


class Context(Frozen):
    """What a board asks of a release and no count can tell: about what, for whom, against whom, until when.

    It follows what ISO/IEC 27559, the templates for EMA Policy 0070 and Health Canada, NIST SP 800-188 and the EHDS ask
    for. Report and ``audit.json`` tell all of it, and say "not stated" for what is missing.

    Why it is safe: nothing is computed with it. The same policy with another context, or none, gives the same table. It
    is part of the policy's hash, since it is part of what a person signs: a table released to one hospital under an
    agreement is not the same decision as that table on the web. A policy without a context keeps the hash it had.

    Examples
    --------
    >>> context = Context(dataset="Discharges 2024", date="2025-03-01", risk="maximum")
    >>> context.tell()["dataset"], context.tell()["date"], context.tell()["recipients"]
    ('Discharges 2024', '2025-03-01', 'not stated')
    """

    dataset: Words | None = None
    """What the table is called."""
    policy_name: Words | None = None
    """What this policy is called."""
    date: dt.date | None = None
    """The date of the decision. No clock is ever read: the same audit is the same bytes."""
    purpose: Words | None = None
    """What the table is for, and why anonymized data suffice, or do not."""
    recipients: Words | None = None
    """Who gets the table."""
    sharing_model: Words | None = None
    """How: published, under an agreement, within an enclave, by queries; may it leave the secure environment?"""
    controls: Words | None = None
    """What binds the recipients, and what they could and might want to do; the harm if they did."""
    threat_model: Words | None = None
    """Who is thought to attack, and what they know."""
    risk: Literal["maximum", "average"] | None = None
    """Which risk is compared with the threshold: that of the person who is easiest to find, or the mean of all."""
    risk_reason: Words | None = None
    """Why that one."""
    risk_threshold: Annotated[float, Field(gt=0.0, le=1.0, allow_inf_nan=False)] | None = None
    """The greatest risk that is accepted, compared exactly: one in eleven is 0.091, not 0.09. Where it is not stated it
    is what the promises say: one in k."""
    reidentification_study: Words | None = None
    """Who tried to find people in the table, when, and what came of it."""
    approval: Words | None = None
    """Which board decides, and how releases are watched afterwards."""
    review_date: dt.date | None = None
    """When all this is judged again."""
    pseudonyms: Words | None = None
    """For keyed pseudonyms: their domain, who has the secret, how it is changed, and that the data remain personal."""
    variables: Mapping[str, Variable] = Field(default={})
    """Column → what is stated of it."""

    def tell(self) -> dict[str, Any]:
        """Return every field as plain data, those that are missing as not stated; columns stand elsewhere."""
        told = self.model_dump(mode="json", exclude={"variables"})
        return {name: NOT_STATED if value is None else value for name, value in told.items()}
