"""Which turn a model call plays."""

import json

import pytest

from unit.llm.demo.playing import ask, assistant, calls, said, tool, turns, user

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "celsius": {"type": "number"}},
    "required": ["city"],
}


def test_call_number_k_plays_turn_k_and_past_the_end_it_is_done() -> None:
    answers = turns('[[call:clock]][[call:add {"a":1}]][[say:both]][[turn]][[say:end]]', 4)

    assert [calls(answer) for answer in answers] == [
        [("clock", "{}"), ("add", '{"a":1}')],
        [],
        [],
        [],
    ]
    assert [answer.content for answer in answers] == [None, "both", "end", "done"]


def test_a_plain_text_is_echoed_once() -> None:
    assert [answer.content for answer in turns("hello there", 2)] == ["echo: hello there", "done"]


def test_a_steered_turn_starts_the_new_script_from_its_beginning() -> None:
    messages = [
        user("[[call:clock]][[say:old]]"),
        assistant(None, "c1"),
        tool("c1", "noon"),
        user("[[say:new]]"),
    ]

    assert said(messages) == "new"


def test_messages_of_the_engine_are_no_scripts_and_do_not_count() -> None:
    messages = [
        user("[[call:clock]][[say:end]]"),
        assistant(None, "c1"),
        tool("c1", "noon"),
        user("[Everturn] You said [[say:wrong]] twice."),
    ]

    assert said(messages) == "end"


def test_without_tools_a_calling_turn_is_replaced_by_the_last_call_free_one() -> None:
    answer = ask("[[call:clock]][[say:one]][[turn]][[say:two]][[call:clock]]", tools=None)

    assert (answer.content, answer.tool_calls) == ("one", ())


def test_tools_that_must_not_be_called_are_as_good_as_none() -> None:
    """The forced final turn: they stay in the request, for the history has calls."""
    script = "[[call:clock]][[say:two]]"

    assert said(script, tool_choice="none") == "two"
    assert calls(ask(script, tool_choice="auto")) == [("clock", "{}")]


def test_without_tools_and_without_a_call_free_turn_it_is_done() -> None:
    assert said("[[call:clock]]", tools=()) == "done"


def test_without_tools_a_call_free_turn_is_played_as_it_stands() -> None:
    assert said("[[say:one]][[turn]][[say:two]]", tools=None) == "one"


@pytest.mark.parametrize("script", ["[[plan:a|b]]", "[[sleep:1]]", "[[think:hm]]", "[[cut:9]]"])
def test_a_turn_that_makes_no_answer_is_done(script: str) -> None:
    assert said(script) == "done"


@pytest.mark.parametrize(
    "script", ["weather?", "[[think:hm]]", "[[plan:a|b]]", "[[sleep:1]][[finish:max_tokens]]"]
)
def test_with_an_output_schema_silence_is_a_minimal_instance(script: str) -> None:
    assert said(script, output_schema=SCHEMA) == '{"city":""}'


def test_the_instance_comes_before_the_end_of_the_turn() -> None:
    answer = ask("[[finish:max_tokens]]", output_schema=SCHEMA)

    assert (answer.content, answer.finish_reason) == ('{"city":""}', "length")


def test_with_an_output_schema_words_and_calls_stay_what_they_are() -> None:
    assert said('[[say:{"city":"Rome"}]]', output_schema=SCHEMA) == '{"city":"Rome"}'
    assert calls(ask("[[call:clock]]", output_schema=SCHEMA)) == [("clock", "{}")]


def test_a_forced_final_turn_with_a_schema_is_an_instance() -> None:
    answer = said("[[call:clock]]", tools=None, output_schema=SCHEMA)

    assert json.loads(answer or "") == {"city": ""}
