"""published_columns(), needed_columns(): what a release of a table has, and what it is made of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.policy.policy import Policy

_INDEX = re.compile(r"__index_level_\d+__")


def published_columns(columns: Sequence[str], policy: Policy) -> list[str]:
    """Return the columns that a release of this table has, in the table's order.

    The row index that pandas wrote into a file is not one of them, unless the policy names it.
    """
    shown = {*policy.quasi_identifiers, *policy.sensitive, *policy.perturbed, *policy.pseudonyms.values()}
    if policy.others == "keep":
        shown |= {name for name in columns if not _INDEX.fullmatch(name)} - set(policy.hidden)
    return [name for name in columns if name in shown]


def needed_columns(columns: Sequence[str], policy: Policy) -> list[str]:
    """Return the columns that are published, or looked at while the others are made; in the order of the table."""
    shown = published_columns(columns, policy)
    looked_at = {policy.subject, policy.survey_weight, *policy.requested_k, *policy.pseudonyms}
    looked_at |= {name for one in policy.perturb for name in one.reads}
    return [name for name in columns if name in shown or name in looked_at]
