"""Presets: whole numbers with their sources, in a policy and out of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jsonschema
import polars as pl
import pytest

import shoal
from shoal import registry as catalog
from shoal.explore.suggest import suggest
from shoal.models import KAnonymity
from shoal.policy import Policy, presets

SIZES = {"ema-0070": 11, "ihsn-3": 3, "ihsn-5": 5}


def policy(models: list[Any], **changes: Any) -> Policy:
    return Policy(**{"quasi_identifiers": {"age": "suppress"}, "models": models, **changes})


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_a_preset_is_its_models(name: str) -> None:
    asked = policy([{"preset": name}])
    assert asked.models == (KAnonymity(k=SIZES[name]),)
    assert asked.presets == (name,)
    assert Policy.from_yaml(asked.to_yaml()) == asked
    assert Policy.from_yaml(asked.to_yaml()).hash == asked.hash
    jsonschema.validate(asked.to_dict(), Policy.schema_json())
    jsonschema.validate({"quasi_identifiers": ["age"], "models": [{"preset": name}]}, Policy.schema_json())


@pytest.mark.parametrize("preset", presets.PRESETS.values(), ids=lambda preset: preset.name)
def test_every_preset_tells_its_source_and_stores_whole_numbers(preset: presets.Preset) -> None:
    assert len(preset.source) > 20
    assert preset.says.endswith(".")
    assert all(isinstance(model.asked, int) for model in preset.models)


def test_classes_of_eleven_are_enough_for_ema_0070() -> None:
    """As numbers 1/11 is more than 0.09: whoever compares risks would ask for twelve."""
    assert Fraction(1, 11) > Fraction("0.09")
    table = pl.DataFrame({"age": [30] * 11 + [40] * 11})
    release = shoal.anonymize(table, policy([{"preset": "ema-0070"}]))
    assert release.attained == {"k-anonymity": 11}
    assert set(release.table["age"]) == {"30", "40"}
    assert not shoal.audit(pl.DataFrame({"age": ["30"] * 10}), policy([{"preset": "ema-0070"}])).holds


def test_a_policy_may_ask_for_more_but_not_for_less() -> None:
    assert policy([KAnonymity(k=12)], presets=["ema-0070"]).presets == ("ema-0070",)
    with pytest.raises(shoal.PolicyError, match="ema-0070 asks for k-anonymity 11, and no model promises it"):
        policy([KAnonymity(k=10)], presets=["ema-0070"])
    weaker = policy([{"preset": "ema-0070"}]).asking([KAnonymity(k=5)])
    assert (weaker.presets, weaker.k) == ((), 5)
    assert policy([{"preset": "ihsn-3"}]).asking([KAnonymity(k=5)]).presets == ("ihsn-3",)


def test_two_presets_and_other_models_stand_together() -> None:
    asked = policy([{"preset": "ihsn-3"}, {"preset": "ema-0070"}, {"name": "k-anonymity", "k": 4}])
    assert [model.asked for model in asked.models] == [3, 11, 4]
    assert asked.presets == ("ihsn-3", "ema-0070")


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([{"preset": "ema-70"}], "presets: no such preset; got 'ema-70'. Hint: did you mean 'ema-0070'?"),
        ([{"preset": ["ihsn-3"]}], "no such preset"),
        ([{"preset": "ihsn-3", "k": 4}], "models[0]: a preset has no parameters"),
        ([{"preset": "hipaa-safe-harbor"}], "hipaa-safe-harbor asks for no model, and a policy needs one"),
    ],
)
def test_mistakes_are_told(models: list[Any], said: str) -> None:
    with pytest.raises(shoal.PolicyError) as caught:
        policy(models)
    assert said in str(caught.value)


def test_an_infeasible_preset_says_what_is_given_up() -> None:
    table = pl.DataFrame({"age": [30] * 6 + [40] * 4})
    with pytest.raises(shoal.Infeasible) as caught:
        shoal.anonymize(table, policy([{"preset": "ema-0070"}]))
    texts = [change.text for change in caught.value.relaxations]
    assert any(text.endswith("(then it no longer follows ema-0070)") for text in texts)
    for change in caught.value.relaxations:
        assert shoal.anonymize(table, change.policy).audit.holds


def test_presets_are_no_model_of_the_catalog() -> None:
    assert "presets" not in catalog.names("models")
    with pytest.raises(shoal.PolicyError, match="no such entry"):
        catalog.find("models", "presets")


def test_a_draft_follows_a_preset_and_quotes_its_source() -> None:
    table = pl.DataFrame({"age": list(range(20, 60)), "sex": ["f", "m"] * 20})
    draft = suggest(table, preset="ema-0070")
    assert Policy.from_yaml(draft).presets == ("ema-0070",)
    assert "EMA/90915/2016" in " ".join(draft.replace("#", " ").split())
    with pytest.raises(shoal.PolicyError, match="did you mean 'ema-0070'"):
        suggest(table, preset="ema-0700")


def test_the_report_names_the_rule_and_its_source() -> None:
    from shoal.reporting import render

    release = shoal.anonymize(pl.DataFrame({"age": [30] * 11}), policy([{"preset": "ema-0070"}]))
    page = render(release.audit, release.manifest)
    assert "The policy follows" in page
    assert "EMA/90915/2016" in page
