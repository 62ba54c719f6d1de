"""The grammar of demo scripts: every directive, where its body ends, and where turns end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.llm.demo.script import Script, parse
from everturn.llm.demo.steps import (
    Call,
    Cut,
    Fail,
    Finish,
    Flaky,
    Report,
    Say,
    Sleep,
    Step,
    Think,
    Verdict,
)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("[[say:Hello, you: ok]]", Say("Hello, you: ok")),
        ("[[say: two\nlines ]]", Say(" two\nlines ")),
        ("[[say]]", Say("")),
        ("[[think:hm hm]]", Think("hm hm")),
        ("[[call:clock]]", Call("clock", "{}")),
        ("[[call:clock  ]]", Call("clock", "{}")),
        ('[[call:clock {"a": [[1]], "b": "]]"}]]', Call("clock", '{"a": [[1]], "b": "]]"}')),
        ('[[call: clock\n{"a":1} ]]', Call("clock", '{"a":1}')),
        ('[[call:clock{"a":1}]]', Call("clock", '{"a":1}')),
        ("[[call:clock {bad]]", Call("clock", "{bad")),
        ("[[rawcall:clock]]", Call("clock", "")),
        ("[[rawcall:clock ]]", Call("clock", "")),
        ("[[rawcall:clock {no json ]]", Call("clock", "{no json ")),
        ("[[rawcall:clock{no json]]", Call("clock", "{no json")),
        ('[[rawcall:clock {"a":"]]"}]]', Call("clock", '{"a":"]]"}')),
        ("[[finish:max_tokens]]", Finish("length")),
        ("[[finish:refusal]]", Finish("content_filter")),
        ("[[finish:weird]]", Finish("weird")),
        ("[[finish]]", Finish("stop")),
        ("[[error:rate_limit slow down, please]]", Fail("rate_limit", "slow down, please")),
        ("[[error:auth]]", Fail("auth", "")),
        ("[[error]]", Fail("server", "")),
        ("[[flaky:2 overloaded]]", Flaky(2, "overloaded")),
        ("[[flaky:1]]", Flaky(1, "server")),
        ("[[cut:3]]", Cut(3)),
        ("[[sleep:1500]]", Sleep(1500)),
        ("[[usage:in=100,out=20,cached=50,reasoning=5]]", Report(100, 20, 50, 5)),
        ("[[usage: out = 7 , odd=1, in=x]]", Report(output=7)),
    ],
)
def test_a_directive_says_what_the_model_does(text: str, step: Step) -> None:
    assert parse(text) == Script(turns=((step,),))


def test_without_a_directive_the_text_is_echoed_as_it_is() -> None:
    script = parse("say {{model}} [twice] [[ and ]]")

    echo = Say("echo: say {{model}} [twice] [[ and ]]", verbatim=True)
    assert script == Script(turns=((echo,),), directed=False)


def test_text_outside_is_ignored_once_there_is_a_directive() -> None:
    assert parse("please [[say:a]] and ]] also [[say:b]] thanks").turns == ((Say("a"), Say("b")),)


@pytest.mark.parametrize(
    "odd",
    [
        "[[smile]]",
        "[[dance:wildly]]",
        "[[call:]]",
        "[[call]]",
        "[[rawcall: ]]",
        "[[cut:some]]",
        "[[cut:-1]]",
        "[[sleep:1.5]]",
        "[[sleep:9999999999]]",
        "[[flaky:often server]]",
        "[[judge:maybe]]",
        "[[finish:aborted]]",
        "[[SAY:x]]",
    ],
)
def test_what_is_unknown_or_unreadable_is_ignored(odd: str) -> None:
    assert parse(f"{odd}[[say:a]]{odd}").turns == ((Say("a"),),)
    assert not parse(f"hi {odd}").directed


@pytest.mark.parametrize("text", ["[[say:never closed", "[[call:clock {", "[[rawcall:clock {[["])
def test_what_is_never_closed_is_text(text: str) -> None:
    assert not parse(text).directed


def test_a_raw_call_ends_at_the_last_brackets_before_the_next_directive() -> None:
    script = parse("[[rawcall:clock a]] b]] c [[say:d]] ]]")

    assert script.turns == ((Call("clock", "a]] b"),), (Say("d"),))


def test_a_raw_call_that_nothing_closes_leaves_the_rest_alone() -> None:
    assert parse("[[rawcall:clock [[say:a]]").turns == ((Say("a"),),)


def test_adjacent_calls_are_one_batch_whatever_text_is_between() -> None:
    script = parse("[[say:a]][[call:one]] then [[call:two]]")

    assert script.turns == ((Say("a"), Call("one", "{}"), Call("two", "{}")),)


@pytest.mark.parametrize(
    ("between", "second"),
    [
        ("[[turn]]", (Call("two", "{}"),)),
        ("[[sleep:5]]", (Sleep(5), Call("two", "{}"))),
        ("[[think:x]]", (Think("x"), Call("two", "{}"))),
        ("[[judge:on_track]]", (Call("two", "{}"),)),
        ("[[plan:a|b]]", (Call("two", "{}"),)),
    ],
)
def test_whatever_follows_a_batch_begins_the_next_turn(
    between: str, second: tuple[Step, ...]
) -> None:
    script = parse(f"[[call:one]]{between}[[call:two]]")

    assert script.turns == ((Call("one", "{}"),), second)


def test_an_error_after_a_batch_is_the_next_model_call() -> None:
    script = parse("[[call:one]][[error:server no]][[say:a]]")

    assert script.turns == ((Call("one", "{}"),), (Fail("server", "no"),), (Say("a"),))


def test_a_finish_after_a_batch_still_belongs_to_it() -> None:
    script = parse("[[call:one]][[finish:max_tokens]][[say:a]]")

    assert script.turns == ((Call("one", "{}"), Finish("length")), (Say("a"),))


def test_a_turn_ends_at_turn_finish_and_error() -> None:
    script = parse("[[say:a]][[turn]][[say:b]][[finish:stop]][[say:c]][[error:auth]][[say:d]]")

    assert script.turns == (
        (Say("a"),),
        (Say("b"), Finish("stop")),
        (Say("c"), Fail("auth", "")),
        (Say("d"),),
    )


def test_turn_makes_no_empty_turns() -> None:
    script = parse("[[turn]][[say:a]][[finish:stop]][[turn]][[turn]][[say:b]][[turn]]")

    assert script.turns == ((Say("a"), Finish("stop")), (Say("b"),))


def test_plan_and_verdicts_stand_beside_the_turns() -> None:
    script = parse(
        "[[plan: read | write ||]][[judge:on_track]][[say:a]]"
        "[[judge:redirect look again]][[judge:finalize]]"
    )

    assert script == Script(
        turns=((Say("a"),),),
        plan=("read", "write"),
        verdicts=(
            Verdict("on_track"),
            Verdict("redirect", "look again"),
            Verdict("finalize"),
        ),
    )


BITS = st.sampled_from(
    [
        "[[",
        "]]",
        ":",
        "say",
        "call",
        "rawcall",
        "flaky",
        "usage",
        "turn",
        "{",
        "}",
        '"',
        " ",
        "x",
        "9",
    ]
)


@settings(deadline=None)
@given(text=st.one_of(st.text(), st.lists(BITS, max_size=40).map("".join)))
def test_any_text_is_a_script(text: str) -> None:
    script = parse(text)

    assert all(script.turns)


def test_a_call_nested_too_deep_for_a_parser_is_sent_as_it_stands() -> None:
    deep = "[" * 100_000

    assert parse(f"[[call:clock {deep} ]]").turns == ((Call("clock", deep),),)


def test_very_long_texts_take_no_time() -> None:
    openings = "[[say:" * 300_000 + "[[rawcall:a " * 300_000

    assert not parse(openings).directed
