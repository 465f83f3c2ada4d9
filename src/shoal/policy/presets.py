"""Presets: what published rules ask for, as models of a policy, each with its source.

Thresholds are stored as class sizes, whole numbers. A risk of 0.09 is 1 in 11 rounded: compared as a number,
1/11 = 0.0909… would be more than 0.09, and a table of classes of 11 would be refused.

In a policy: ``models: [{preset: ema-0070}]``; in a draft: ``shoal suggest DATA --preset ema-0070``.

Examples
--------
>>> find_preset("ema-0070").models
(KAnonymity(k=11),)
>>> print(find_preset("ihsn-3"))
ihsn-3: k-anonymity 3
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.errors import Fault, PolicyError, nearest
from shoal.models.base import PrivacyModel
from shoal.models.k_anonymity import KAnonymity

SAFE_HARBOR = "hipaa-safe-harbor"
"""The preset that asks for treatments of columns instead of models."""


@dataclass(frozen=True)
class Preset:
    """A published rule: what it asks for, and where that is written."""

    name: str
    says: str
    """What the rule asks for, in one sentence."""
    source: str
    models: tuple[PrivacyModel, ...] = ()

    def __str__(self) -> str:
        asked = ", ".join(f"{model.key()} {model.asked}" for model in self.models)
        return f"{self.name}: {asked or 'columns are treated, no model is asked for'}"

    def unmet(self, models: Iterable[PrivacyModel]) -> list[PrivacyModel]:
        """Return what the rule asks for that none of these models promises: the same model, at least as strict."""
        promised = list(models)
        return [
            asked
            for asked in self.models
            if not any(type(model) is type(asked) and asked.meets(model.asked) for model in promised)
        ]


_IPC = (
    "Information and Privacy Commissioner of Ontario, De-identification Guidelines for Structured Data (2025), on "
    "thresholds for data that are made public."
)

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "ema-0070",
            "Clinical data that anyone can get: a risk of being found of at most 0.09, which is one in eleven.",
            "European Medicines Agency, External guidance on the implementation of the EMA policy on the publication "
            "of clinical data for medicinal products for human use (Policy 0070), EMA/90915/2016, on anonymisation.",
            (KAnonymity(k=11),),
        ),
        Preset(
            "ihsn-3",
            "Survey data: every record looks like at least two others, the lower of the two levels in common use.",
            "International Household Survey Network and World Bank, Statistical disclosure control for microdata: a "
            "practice guide, section on k-anonymity: commonly applied thresholds are 3 and 5.",
            (KAnonymity(k=3),),
        ),
        Preset(
            "ihsn-5",
            "Survey data: every record looks like at least four others, the higher of the two levels in common use.",
            "International Household Survey Network and World Bank, Statistical disclosure control for microdata: a "
            "practice guide, section on k-anonymity: commonly applied thresholds are 3 and 5.",
            (KAnonymity(k=5),),
        ),
        Preset(
            "ipc-ontario-low",
            "Health data in Ontario whose disclosure would hardly invade privacy: classes of eleven (a risk of 0.09).",
            _IPC,
            (KAnonymity(k=11),),
        ),
        Preset(
            "ipc-ontario-medium",
            "Health data in Ontario whose disclosure would invade privacy: classes of fifteen (a risk of 0.075).",
            _IPC,
            (KAnonymity(k=15),),
        ),
        Preset(
            "ipc-ontario-high",
            "Health data in Ontario whose disclosure would gravely invade privacy: classes of twenty (a risk of 0.05).",
            _IPC,
            (KAnonymity(k=20),),
        ),
        Preset(
            "cms",
            "Medicare and Medicaid data: no cell of one to ten persons is shown.",
            "Centers for Medicare and Medicaid Services, cell size suppression policy.",
            (KAnonymity(k=11),),
        ),
        Preset(
            "arx-default",
            "No rule, but what many start from: a risk of being found of at most 0.2, which is one in five.",
            "ARX data anonymization tool 3.9, default of its risk analysis for the highest risk.",
            (KAnonymity(k=5),),
        ),
        Preset(
            SAFE_HARBOR,
            "Health data in the United States: 18 kinds of identifiers are removed, ZIP codes cut to three digits (000 "
            "where 20,000 people or fewer live), dates to years, ages over 89 made one group. It asks for no class "
            "size, so the policy names its models beside it.",
            "45 CFR 164.514(b)(2); the ZIP codes are those of the HHS guidance on de-identification (2012, census of "
            "2000) together with those of the census of 2010.",
        ),
    )
}


def find_preset(name: object) -> Preset:
    """Return a preset by its name."""
    if not isinstance(name, str) or name not in PRESETS:
        raise PolicyError(Fault("no such preset", "presets", repr(name), nearest(str(name), PRESETS)))
    return PRESETS[name]


def replace_presets(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a policy says, the models of each preset in the place of its name."""
    if not isinstance(data.get("models"), (list, tuple)):
        return data
    models, named = [], list(data.get("presets") or ())
    for number, item in enumerate(data["models"]):
        if not isinstance(item, Mapping) or "preset" not in item:
            models.append(item)
            continue
        if len(item) > 1:
            raise PolicyError("a preset has no parameters", where=f"models[{number}]", got=repr(dict(item)))
        models += find_preset(item["preset"]).models
        named += [item["preset"]] if item["preset"] not in named else []
    if not models and data["models"]:
        raise PolicyError(
            f"{', '.join(named)} asks for no model, and a policy needs one",
            where="models",
            hint="add one beside it, for example {name: k-anonymity, k: 5}",
        )
    return {**data, "models": models, **({"presets": named} if named else {})}
