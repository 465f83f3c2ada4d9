"""describe_perturbations(): what each perturbation promises of its columns, and what the audit tested, as texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.auditing.perturbed import PerturbationAudit
from shoal.reporting.formatting import elide, format_list, format_number, format_share

if TYPE_CHECKING:
    from shoal.auditing import Audit
    from shoal.guarantees import JointGuarantee

_LONGEST = 300
"""So many signs of a parameter are shown: a matrix may have hundreds of rows."""
_NO_PARAMETERS = ("columns", "mechanism", "told")


def describe_perturbations(audit: Audit) -> list[dict[str, Any]]:
    """Return a row for each perturbation; what it keeps secret is in none."""
    return [_describe(one) for one in audit.perturbations]


def _describe(one: PerturbationAudit) -> dict[str, Any]:
    return {
        "name": one.name,
        "columns": format_list(one.guarantee.columns),
        "guarantee": one.guarantee.key(),
        "promises": one.guarantee.summary(),
        "parameters": "; ".join(f"{name} {value}" for name, value in list_parameters(one.guarantee)),
        "tests": [(test.asks, test.outcome, test.not_run or test.got) for test in one.tests],
        "holds": one.holds,
        "outcome": one.outcome,
        "lost": _format_lost(one),
        "bound": _format_bound(one),
    }


def list_parameters(guarantee: JointGuarantee) -> list[tuple[str, str]]:
    """Return the parameters that are told, as texts; those that say nothing left out.

    Examples
    --------
    >>> from shoal.guarantees import Perturbs
    >>> told = {"retain": 0.8, "invariant": False, "within": ["region", "sex"]}
    >>> list_parameters(Perturbs(columns=("roof",), mechanism="transition", told=told, secret={"window": 3}))
    [('mechanism', 'transition'), ('retain', '0.8'), ('within', 'region and sex')]
    """
    said = guarantee.parameters()
    named = {key: said[key] for key in ("mechanism",) if key in said}
    plain = {key: value for key, value in said.items() if key not in _NO_PARAMETERS}
    return [(key, _format(value)) for key, value in (named | plain | said.get("told", {})).items() if _says(value)]


def _says(value: Any) -> bool:
    return value is not None and value is not False and value not in ([], {}, "")


def _format(value: Any) -> str:
    if isinstance(value, Mapping):
        return elide(f"({', '.join(f'{key} {_format(inner)}' for key, inner in value.items())})", _LONGEST)
    if isinstance(value, (list, tuple)):
        return elide(format_list(value), _LONGEST)
    return "yes" if value is True else f"{value:,}" if type(value) is int else str(value)


def _format_lost(one: PerturbationAudit) -> str:
    share = one.measured.get("share")
    return "" if share is None else f"{format_share(share)} of the squared distances from the mean (SSE)"


def _format_bound(one: PerturbationAudit) -> str:
    """Return how near the proven bound what was lost is."""
    lost, bound = one.measured.get(one.guarantee.bounded), one.claimed_bound
    if lost is None or bound is None:
        return ""
    times = f", {lost / bound:.2f} times that" if bound > 0 else ""
    return f"nothing under this promise loses less than {format_number(bound)} ({one.guarantee.bounded}); " + (
        f"lost {format_number(lost)}{times}; the method proved that, the audit did not count it"
    )
