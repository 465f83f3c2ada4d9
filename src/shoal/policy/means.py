"""write_out_means(): ``publish: means`` as the entry of ``perturb`` that it is short for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import PolicyError
from shoal.models.base import PrivacyModel
from shoal.registry import Frozen, OneOf

MEANS = "means"


def write_out_means(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a policy says, its quasi-identifiers as columns of ``class-means`` where means are to be published.

    Its models and its algorithm go there too: they are about the classes of these columns, and nothing else is.

    Examples
    --------
    >>> said = {"quasi_identifiers": ["age"], "models": [{"name": "k-anonymity", "k": 5}], "publish": "means"}
    >>> write_out_means(said)
    {'perturb': [{'name': 'class-means', 'columns': ['age'], 'k': 5, 'models': []}]}
    """
    if data.get("publish") != MEANS:
        return data
    models = [OneOf("models").parse(model) for model in data.get("models") or ()]
    counted = [model for model in models if isinstance(model, PrivacyModel)]
    if not counted:
        raise PolicyError("publish: means needs models", where="models", hint="say how many records show the same")
    entry = {
        "name": "class-means",
        "columns": _list_columns(data.get("quasi_identifiers") or ()),
        "k": max(2, *(model.least_records for model in counted)),
        "models": [model for model in counted if not _is_size(model)],
    }
    if "algorithm" in data:
        entry["algorithm"] = data["algorithm"]
    written = ("publish", "quasi_identifiers", "models", "algorithm")
    rest = {key: value for key, value in data.items() if key not in written}
    return {**rest, "perturb": [entry, *(data.get("perturb") or ())]}


def _is_size(model: PrivacyModel) -> bool:
    """Whether all that a model asks of a class is its number of records."""
    return model.only_asks == "records" and not model.sensitive_columns


def _list_columns(said: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Return the names of quasi-identifiers of which nothing else is said."""
    if not said:
        raise PolicyError("publish: means needs columns", where="quasi_identifiers")
    for name, role in said.items() if isinstance(said, Mapping) else ():
        if role.model_dump(exclude_defaults=True) if isinstance(role, Frozen) else role:
            hint = "leave out its options; missing, scales and strata are options of a class-means entry of perturb"
            raise PolicyError(
                "columns are published as means, whatever their hierarchy",
                where=f"quasi_identifiers.{name}",
                got=repr(role)[:80],
                hint=hint,
            )
    return list(said)
