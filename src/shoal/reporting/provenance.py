"""Where a release comes from: the request, the steps of the search, the manifest, as texts for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shoal.reporting.formatting import format_list, format_number

if TYPE_CHECKING:
    from shoal.policy import Policy


def chosen_levels(manifest: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the level that the search chose for each column, where it chose one for all records."""
    recoding = {} if manifest is None else manifest.get("recoding")
    levels = recoding.get("levels") if isinstance(recoding, Mapping) else None
    return levels if isinstance(levels, Mapping) else {}


def describe_request(request: Any) -> str | None:
    """Return what a request for the whole table weighs, as a sentence."""
    if not isinstance(request, Mapping) or not isinstance(request.get("weights"), Mapping):
        return None
    named = format_list(f"{name} {_format_weight(weight)}" for name, weight in request["weights"].items())
    total, threshold = _format_weight(request.get("total")), _format_weight(request.get("threshold"))
    return (
        f"The columns weigh {total} together ({named}); the threshold is {threshold}. It decides on requests: "
        "this table keeps its promises in any case."
    )


def _format_weight(weight: Any) -> str:
    return f"{weight:g}" if isinstance(weight, int | float) else format_number(weight)


def describe_rounds(recoding: Any) -> Iterator[dict[str, str]]:
    """Yield the steps that the search tells."""
    steps = recoding.get("rounds") if isinstance(recoding, Mapping) else None
    for step in steps or ():
        yield {
            "column": str(step.get("column", "as it is")),
            "weight": _format_weight(step.get("weight")),
            "level": format_number(step.get("level")),
            "attained": ", ".join(f"{name} {format_number(value)}" for name, value in step["attained"].items()),
            "failing": format_number(step["failing"]),
        }


def _unexplained_parts(recoding: Any) -> Any:
    """Return a recoding without what is told elsewhere on the page."""
    if not isinstance(recoding, Mapping):
        return recoding
    return {key: value for key, value in recoding.items() if key not in ("proof", "rounds")}


def _proof(recoding: Any) -> str | None:
    proof = recoding.get("proof") if isinstance(recoding, Mapping) else None
    if not isinstance(proof, Mapping):
        return None
    return "; ".join([str(proof.get("text", "")), *map(str, proof.get("notes", ()))])


def describe_manifest(manifest: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Return the manifest's facts, versions and files."""
    policy_hash = manifest.get("policy_hash")
    facts = [
        ("Data fingerprint", manifest.get("data_fingerprint")),
        ("Policy hash", policy_hash),
        ("Records", format_number(manifest.get("records")) if "records" in manifest else None),
        ("Seed", manifest.get("seed")),
        ("Recoding", _phrase(_unexplained_parts(manifest.get("recoding")))),
        ("How near the best", _proof(manifest.get("recoding"))),
    ]
    return {
        "facts": [(title, str(value)) for title, value in facts if value not in (None, "")],
        "versions": _pairs(manifest.get("versions")),
        "files": _pairs(manifest.get("files")),
        "is_other": policy_hash is not None and policy_hash != policy.hash,
    }


def _pairs(value: object) -> list[tuple[str, str]]:
    return [(str(key), str(item)) for key, item in value.items()] if isinstance(value, Mapping) else []


def _phrase(value: object) -> str:
    if not isinstance(value, Mapping):
        return "" if value is None else str(value)
    return "; ".join(_format_part(str(key), part) for key, part in value.items())


def _format_part(key: str, part: object) -> str:
    if isinstance(part, Mapping):
        return f"{key}: " + ", ".join(f"{name} {item}" for name, item in part.items())
    return str(part) if key == "recoding" else f"{key}: {part}"
