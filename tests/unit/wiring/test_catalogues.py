"""What looking a model up costs: nothing for the demo, the tenant's record for anything else."""

from __future__ import annotations

import pytest

from everturn.llm.catalogue import ModelRef
from everturn.settings import SettingsMissing
from everturn.wiring.catalogues import models_of


def test_a_selector_of_the_demo_is_resolved_without_a_table() -> None:
    catalogue = models_of("acme")

    facts = catalogue.facts(catalogue.split("demo:demo"))

    assert (facts.provider, facts.id) == ("demo", "demo")
    assert catalogue.facts(ModelRef("demo", "other")).name == "other"


@pytest.mark.parametrize("selector", ["demo", "openai:gpt-5", "gpt-5"])
def test_any_other_selector_asks_the_table(selector: str) -> None:
    with pytest.raises(SettingsMissing, match="EVERTURN_TABLE"):
        models_of("acme").split(selector)
