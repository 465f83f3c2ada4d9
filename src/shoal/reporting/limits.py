"""What an audit does not show, told for one policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shoal.policy.outputs import least_class
from shoal.reporting.formatting import format_list

if TYPE_CHECKING:
    from shoal.auditing import Audit
    from shoal.policy import Policy


def list_limits(audit: Audit) -> Iterator[tuple[str, str]]:
    """Yield what was not checked or cannot be promised, as title and text; the most specific first."""
    yield from _of_the_count(audit)
    yield from _of_the_form(audit.policy)
    yield from _of_the_policy(audit.policy)
    tried = {attack.risk.key() for attack in audit.attacks.run}
    yield from _of_every_policy(tried)


_NOT_COMPARED = "Earlier, later and other owners' releases were not compared."
_OF_THE_METHOD = "Some ways to do so were tried; there are others."


def _of_the_count(audit: Audit) -> Iterator[tuple[str, str]]:
    if not audit.is_compared:
        yield (
            "The original table",
            "It was not compared with the published one: losses, the risk before, records that were left out "
            "and the order of the records are not covered.",
        )


def _of_the_form(policy: Policy) -> Iterator[tuple[str, str]]:
    if policy.output.form == "anatomy":
        yield (
            "Who is in the table",
            "Quasi-identifiers are published as they are: someone who knows a person's finds their record, and that "
            "they are in the table. Only which sensitive value is theirs is protected. k-anonymity is not claimed.",
        )
    if policy.output.form == "statistics":
        yield (
            "The values behind the statistics",
            "Mean, variance and range of whole numbers can often be worked back to all numbers of a class, though not "
            f"to who has which; each class has at least {least_class(policy)} records. A person whose value is not in "
            "the distribution of a class is known not to be in it.",
        )
    if policy.pseudonyms:
        yield (
            "Pseudonyms",
            f"{format_list(policy.pseudonyms)}: whoever has the key can name every person, and tables with the same "
            "key can be joined, person by person. The table is pseudonymous for them, whatever else holds.",
        )


def _of_the_policy(policy: Policy) -> Iterator[tuple[str, str]]:
    looked_at = {name for model in policy.models for name in model.sensitive_columns}
    alone = [name for name in policy.sensitive if name not in looked_at]
    if alone:
        yield (
            "Classes whose sensitive values agree",
            "k-anonymity does not protect against someone who finds a person's class and reads there a value that "
            f"all its records share. No promise of this policy looks at {format_list(alone)}.",
        )
    if not policy.sensitive:
        yield (
            "What can be learned about a person",
            "The policy names no sensitive column, so nothing is promised about what the records of a class have in "
            "common. k-anonymity alone does not protect against that.",
        )
    for model in {model.key(): model for model in policy.models}.values():
        if model.leaves_open and (model.sensitive_columns or model.draws or not model.classwise):
            yield f"What {model.key()} leaves open", model.leaves_open
    if policy.subject is None:
        yield (
            "Several records of one person",
            "Records were counted as if each were about another person. If one person has several, the true "
            "protection is lower: name the column that tells persons apart (subject) in the policy.",
        )
    if policy.sensitive:
        yield (
            "Text inside the cells",
            f"Sensitive columns ({format_list(policy.sensitive)}) are published as they are. Names or addresses that "
            "somebody wrote into them were not looked for.",
        )
    if policy.others == "keep":
        yield (
            "Columns without a role",
            "They are published as they are. Nobody has said whether they name a person or can be known to others.",
        )


def _of_every_policy(tried: set[str]) -> Iterator[tuple[str, str]]:
    yield (
        "What else an attacker knows",
        "Only the quasi-identifiers that the policy names were counted. Someone who knows anything else that the "
        "table shows about a person, a sensitive value included, may find that person's record.",
    )
    yield (
        "Likely, similar and excluded values",
        "Beyond the promises above, someone who finds a person's class may learn that one value is likely there, "
        "that all values mean much the same, or rule some out by what they know.",
    )
    yield (
        "Whether somebody is in the table",
        "Being in the table can itself be sensitive. That was not measured.",
    )
    yield (
        "Other releases",
        "Two tables about the same people can each keep their promises and break them together. "
        + ("Only the earlier releases that were given were compared." if "temporal" in tried else _NOT_COMPARED),
    )
    yield (
        "Knowledge of the method",
        "Someone who knows the search and the hierarchies can at times undo part of the generalization (minimality "
        f"and downcoding attacks). {_OF_THE_METHOD if 'downcoding' in tried else 'No such attack was run.'}",
    )
    yield (
        "The legal judgement",
        "Whether a person can be identified by means that are reasonably likely to be used depends on who receives "
        "the table, on what terms, and what else they hold. That is for a person to judge, and to judge again "
        "when circumstances change.",
    )
