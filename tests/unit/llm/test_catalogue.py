"""Routes, facts, selectors and prices."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.llm.catalogue import (
    Catalogue,
    ModelFacts,
    ModelRef,
    Prices,
    ReasoningEffort,
    Route,
    Settled,
    UnsupportedEffort,
    cost_usd,
    settle,
    to_plain,
)
from everturn.llm.demo.model import DEMO_ROUTE
from everturn.protocol.llm import Usage

LARGE = ModelFacts("acme", "large", "Acme Large", context_window_tokens=200_000)
CATALOGUE = Catalogue((DEMO_ROUTE, Route("acme", "Acme", (LARGE,))))


@pytest.mark.parametrize(
    ("selector", "ref"),
    [
        ("demo", ModelRef("demo", "demo")),
        ("demo:demo", ModelRef("demo", "demo")),
        ("acme:large", ModelRef("acme", "large")),
        ("acme:large:2026", ModelRef("acme", "large:2026")),
        ("unknown:large", ModelRef("demo", "unknown:large")),
        ("acme/large", ModelRef("demo", "acme/large")),
        ("acme:", ModelRef("demo", "acme:")),
        (":large", ModelRef("demo", ":large")),
    ],
)
def test_a_selector_is_split_only_where_the_left_side_is_a_route(
    selector: str, ref: ModelRef
) -> None:
    assert CATALOGUE.split(selector) == ref


@settings(deadline=None)
@given(selector=st.text(min_size=1))
def test_a_selector_loses_nothing_but_its_route(selector: str) -> None:
    ref = CATALOGUE.split(selector)

    assert selector in {ref.model, f"{ref.provider}:{ref.model}"}


def test_the_default_provider_is_the_deployments_choice() -> None:
    catalogue = Catalogue(CATALOGUE.routes, default_provider="acme")

    assert catalogue.split("large") == ModelRef("acme", "large")


def test_models_are_listed_route_by_route() -> None:
    assert [facts.id for facts in CATALOGUE.models()] == ["demo", "large"]


@pytest.mark.parametrize(
    ("ref", "facts"),
    [
        (ModelRef("acme", "large"), LARGE),
        (ModelRef("acme", "next"), ModelFacts("acme", "next", "next")),
        (ModelRef("none", "x"), ModelFacts("none", "x", "x")),
    ],
)
def test_an_unlisted_model_is_known_by_its_name(ref: ModelRef, facts: ModelFacts) -> None:
    assert CATALOGUE.facts(ref) == facts


THINKER = ModelFacts(
    "acme",
    "thinker",
    "Thinker",
    default_max_tokens=8192,
    efforts=(ReasoningEffort("high", "High"), ReasoningEffort("low", "Low")),
    default_effort="low",
)


def test_what_a_call_leaves_out_comes_from_the_route_and_is_marked() -> None:
    settled = settle(THINKER, max_tokens=None, effort=None)

    assert settled == Settled(8192, "low", ("max_tokens", "reasoning_effort"))


def test_what_a_call_says_stays_unmarked() -> None:
    assert settle(THINKER, max_tokens=10, effort="high") == Settled(10, "high", ())


def test_an_effort_that_the_route_does_not_offer_is_refused() -> None:
    """O-15."""
    with pytest.raises(UnsupportedEffort, match="acme:thinker offers no effort xhigh"):
        settle(THINKER, max_tokens=None, effort="xhigh")


def test_unknown_efforts_forbid_nothing() -> None:
    assert settle(LARGE, max_tokens=None, effort="xhigh") == Settled(None, "xhigh", ())


PRICES = Prices(Decimal("3"), Decimal("15"), Decimal("0.3"), Decimal("3.75"))


@pytest.mark.parametrize(
    ("usage", "prices", "cost"),
    [
        (Usage(input_tokens=118, output_tokens=6), PRICES, "0.000444"),
        (
            Usage(
                input_tokens=1000,
                output_tokens=100,
                cache_read_tokens=5000,
                cache_write_tokens=200,
                reasoning_tokens=90,
            ),
            PRICES,
            "0.00675",
        ),
        (
            Usage(input_tokens=0, output_tokens=0, cache_read_tokens=10, cache_write_tokens=10),
            Prices(Decimal("3"), Decimal("15")),
            "0.00006",
        ),
        (Usage(input_tokens=1_000_000, output_tokens=1_000_000), PRICES, "18"),
        (Usage(input_tokens=7, output_tokens=7), Prices(Decimal(0), Decimal(0)), "0"),
    ],
)
def test_usage_is_priced_as_a_plain_decimal(usage: Usage, prices: Prices, cost: str) -> None:
    """Y-1."""
    assert cost_usd(usage, prices) == cost


@pytest.mark.parametrize(
    ("amount", "text"), [("1E+2", "100"), ("1E-7", "0.0000001"), ("2.500", "2.5"), ("0.0", "0")]
)
def test_amounts_have_no_exponent(amount: str, text: str) -> None:
    assert to_plain(Decimal(amount)) == text
