"""What published rules say of a release: its class sizes; singling out, linkability and inference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shoal.models.base import PrivacyModel
from shoal.policy.presets import PRESETS

SOURCE = (
    "Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP216), section 5: the "
    "table of strengths and weaknesses."
)
CRITERIA = {
    "singling_out": "Can the record of a person be told from all others?",
    "linkability": "Can two records about one person, in this table or in two, be linked?",
    "inference": "Can the value of a column be told, with a high chance, from those of others?",
}
_K, _L, _DP = ("no", "yes", "yes"), ("no", "yes", "may not"), ("may not", "may not", "may not")
SAYS: dict[str, tuple[str, str, str]] = {
    "k-anonymity": _K,
    "distinct-l-diversity": _L,
    "entropy-l-diversity": _L,
    "recursive-l-diversity": _L,
    "t-closeness": _L,
    "differential-privacy": _DP,
}
"""Model → whether each criterion is still a risk where it holds, as the Opinion says it."""
LIKE = {
    "personal-k": "k-anonymity",
    "p-sensitive": "distinct-l-diversity",
    "alpha-k-anonymity": "distinct-l-diversity",
    "beta-likeness": "t-closeness",
    "delta-disclosure": "t-closeness",
}
"""Model → the one of the Opinion that it is a stricter or a near form of; the Opinion itself does not name it."""
CAVEATS = {
    "singling_out": "The Opinion's answer for k-anonymity is contested: Cohen and Nissim (2020, PNAS 117(15)) show "
    "that it does not prevent predicates which single one person out.",
    "linkability": "Records of one class can be linked as a group whatever the model; other releases of the same "
    "persons were not looked at here.",
    "inference": "Only the sensitive columns that a model names are protected. Deterministic k-anonymity may not "
    "entirely exclude disclosure (Domingo-Ferrer and Sánchez 2025, arXiv:2510.11299).",
}
_ORDER = ("no", "may not", "yes")


def assess_criteria(held: Iterable[PrivacyModel]) -> dict[str, Any]:
    """Return for each criterion whether it is still a risk, which models say so, and what to keep in mind.

    Only models that hold speak. A table for which all three are no risk is anonymous in the words of the Opinion; for
    any other it asks for an analysis of the risk, by a person.

    Examples
    --------
    >>> from shoal.models import KAnonymity
    >>> {name: told["still_a_risk"] for name, told in assess_criteria([KAnonymity(k=5)])["criteria"].items()}
    {'singling_out': 'no', 'linkability': 'yes', 'inference': 'yes'}
    """
    names = list(dict.fromkeys(model.key() for model in held))
    told = {}
    for index, (criterion, question) in enumerate(CRITERIA.items()):
        said = {name: SAYS[LIKE.get(name, name)][index] for name in names if LIKE.get(name, name) in SAYS}
        told[criterion] = {
            "question": question,
            "still_a_risk": min(said.values(), key=_ORDER.index, default="yes"),
            "models": said,
            "caveat": CAVEATS[criterion],
        }
    silent = [name for name in names if LIKE.get(name, name) not in SAYS]
    return {"source": SOURCE, "criteria": told, "taken_as": _likes(names), "silent_about": silent}


def _likes(names: Iterable[str]) -> dict[str, str]:
    return {name: LIKE[name] for name in names if name in LIKE}


def compare_thresholds(k: int | None) -> list[dict[str, Any]]:
    """Return each published rule that asks for a class size, and whether a table with this k meets it.

    Sizes are compared as whole numbers; a rule that speaks of a risk of 0.09 means one in eleven.

    Examples
    --------
    >>> [(rule["name"], rule["asked"]) for rule in compare_thresholds(5) if rule["met"]]
    [('ihsn-3', 3), ('ihsn-5', 5), ('arx-default', 5)]
    """
    return [
        {
            "name": preset.name,
            "asked": model.class_size,
            "attained": k,
            "met": None if k is None else model.meets(k),
            "source": preset.source,
        }
        for preset in PRESETS.values()
        for model in preset.models
        if model.only_asks == "records"
    ]
