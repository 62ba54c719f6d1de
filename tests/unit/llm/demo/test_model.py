"""The demo model in time: pacing, pauses, cancelling; and the calls the engine makes itself."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from everturn.llm.assemble import assemble
from everturn.llm.catalogue import cost_usd
from everturn.llm.chunks import Finished, TextDelta
from everturn.llm.demo.model import DEMO_ROUTE, DemoModel
from everturn.ports.model import Model
from everturn.protocol.llm import Usage
from everturn.protocol.message import DraftMessage
from unit.llm.demo.playing import assistant, never, request_of, stream, tool, user


class Waits:
    """Counts the seconds slept; cancels once `until_s` are over."""

    def __init__(self, until_s: float = 1e9) -> None:
        self.slept: list[float] = []
        self._until_s = until_s

    @property
    def total_s(self) -> float:
        return round(sum(self.slept), 6)

    def sleep(self, seconds: float) -> bool:
        self.slept.append(seconds)
        return False

    def cancelled(self) -> bool:
        return self.total_s >= self._until_s


def test_the_demo_model_is_a_model() -> None:
    model: Model = DemoModel(lambda _seconds: None)

    chunks = list(model.stream(request_of("hi"), attempt=1, cancelled=never))

    assert assemble(chunks).content == "echo: hi"


def test_without_pacing_nothing_is_slept() -> None:
    waits = Waits()

    list(DemoModel(waits.sleep).stream(request_of("a b c"), attempt=1, cancelled=never))

    assert waits.slept == []


def test_pacing_waits_before_each_delta() -> None:
    waits = Waits()
    model = DemoModel(waits.sleep, pace_s=0.05)

    list(model.stream(request_of("[[say:a b c]]"), attempt=1, cancelled=never))

    assert waits.slept == [0.05, 0.05, 0.05]


@pytest.mark.parametrize("words", [1, 7, 100])
def test_a_stream_may_be_spread_over_a_time(words: int) -> None:
    waits = Waits()
    model = DemoModel(waits.sleep, stream_s=2.0)

    list(model.stream(request_of(f"[[say:{'w ' * words}]]"), attempt=1, cancelled=never))

    assert waits.total_s == 2.0


def test_a_stream_without_deltas_takes_no_time() -> None:
    waits = Waits()
    model = DemoModel(waits.sleep, stream_s=2.0)

    list(model.stream(request_of("[[finish:max_tokens]]"), attempt=1, cancelled=never))

    assert waits.slept == []


def test_a_pause_lasts_as_long_as_the_script_says() -> None:
    waits = Waits()
    script = request_of("[[say:a]][[sleep:1234]][[say:b]]")

    chunks = list(DemoModel(waits.sleep).stream(script, attempt=1, cancelled=never))

    assert (waits.total_s, assemble(chunks).content) == (1.234, "ab")
    assert max(waits.slept) <= 0.1


def test_cancelling_interrupts_a_pause() -> None:
    waits = Waits(until_s=0.3)
    script = request_of("[[say:a]][[sleep:60000]][[say:b]]")

    chunks = list(DemoModel(waits.sleep).stream(script, attempt=1, cancelled=waits.cancelled))

    assert waits.total_s == 0.3
    assert [chunk for chunk in chunks if isinstance(chunk, TextDelta)] == [TextDelta(0, "a")]
    assert chunks[-1] == Finished("aborted")


def test_cancelling_between_deltas_ends_the_stream() -> None:
    answers: Iterator[bool] = iter([False, False, True])

    chunks = list(
        DemoModel(lambda _seconds: None).stream(
            request_of("[[say:a b c]]"), attempt=1, cancelled=lambda: next(answers)
        )
    )

    assert chunks[1:] == [TextDelta(0, "a "), Finished("aborted")]


def test_a_sleep_that_is_told_to_stop_ends_the_stream() -> None:
    chunks = list(
        DemoModel(lambda _seconds: True).stream(
            request_of("[[sleep:1]][[say:a]]"), attempt=1, cancelled=never
        )
    )

    assert chunks == [Finished("aborted")]


def answer_to(messages: list[DraftMessage], **aside: Any) -> str | None:
    return assemble(stream(request_of(messages), **aside)).content


CONVERSATION = [
    DraftMessage(role="system", content="Be brief."),
    user("[Everturn] Summary: before."),
    user("what time is it in the city of Rome"),
    assistant(None, "c1"),
    tool("c1", "noon"),
    assistant("noon"),
    user("[[error:server]][[plan:a|b|c]][[judge:on_track]][[judge:redirect look again]]"),
    user("[Everturn] Sum up the conversation."),
]


def test_a_summarising_call_counts_the_messages_of_the_conversation() -> None:
    assert answer_to(CONVERSATION, purpose="compaction") == "summary of 5 messages"


def test_a_title_is_the_first_five_words() -> None:
    assert answer_to(CONVERSATION, purpose="session_title") == "what time is it in"
    assert answer_to([], purpose="session_title") == "untitled"


@pytest.mark.parametrize(
    ("script", "steps"),
    [
        ("[[plan:read | write]]", ["read", "write"]),
        ("[[plan:only one]]", []),
        ("no plan at all", []),
    ],
)
def test_the_planner_answers_its_steps_or_declines(script: str, steps: list[str]) -> None:
    answer = answer_to([user(script)], purpose="task_planning")

    assert json.loads(answer or "") == {"steps": steps}


@pytest.mark.parametrize(
    ("review", "verdict"),
    [
        (0, {"action": "on_track"}),
        (1, {"action": "redirect", "text": "look again"}),
        (2, {"action": "on_track"}),
    ],
)
def test_the_supervisor_answers_review_by_review(review: int, verdict: dict[str, str]) -> None:
    answer = answer_to(CONVERSATION, purpose="supervisor", review=review)

    assert json.loads(answer or "") == verdict


def test_a_request_without_any_user_message_is_answered_all_the_same() -> None:
    assert answer_to([]) == "echo: "
    assert answer_to([assistant("hello")]) == "echo: "


def test_the_demo_route_offers_the_efforts_of_the_protocol_at_no_cost() -> None:
    (facts,) = DEMO_ROUTE.models

    assert {effort.id for effort in facts.efforts} == {
        "none",
        "minimal",
        "low",
        "medium",
        "high",
        "xhigh",
    }
    assert facts.default_effort == "medium"
    assert facts.prices is not None
    assert cost_usd(Usage(input_tokens=9, output_tokens=9), facts.prices) == "0"
