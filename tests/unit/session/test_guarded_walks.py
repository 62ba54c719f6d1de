"""Guarded sessions of any course: whatever the model asks for, the conversation stays in order.

Each step of a story folds to its head and rebuilds its requests, which are well-formed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.session.events.guards import GuardNoted, ModelFellBack, OutputRejected
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.tool_calls import ToolCallDispatched, ToolCallRequested
from everturn.session.facts import Route
from everturn.session.guard_counts import Guard
from everturn.session.guards import count, rules_of
from examples import per_cent
from unit.session.building import CONFIG, Story, made, only, said
from unit.session.deciding import Deciding, running

TOOLS = ["get_weather", "set_alarm", "send_email"]
ONCE = {"timeout_secs": 60, "max_retries": 1, "backoff_base_secs": 0, "backoff_max_secs": 0}

guards = st.fixed_dictionaries(
    {},
    optional={
        "loop_detection": st.sampled_from(
            [
                False,
                {"consecutive_threshold": 2, "hard_cutoff_threshold": 3},
                {"consecutive_threshold": 2, "hard_cutoff_threshold": 5},
            ]
        ),
        "tool_budgets": st.dictionaries(
            st.sampled_from(TOOLS), st.fixed_dictionaries({"max_calls": st.integers(0, 2)})
        ),
        "max_tool_turns": st.integers(1, 4),
        "output_repairs": st.integers(0, 2),
    },
)
batches = st.lists(st.sampled_from(TOOLS), max_size=3)
replies = st.lists(
    st.tuples(batches, st.booleans(), st.sampled_from(["", "{}"])), min_size=1, max_size=12
)


def reply(at: int, names: list[str], text: str, *, fits: bool) -> Any:
    """Return the `at`-th reply, with something in it."""
    calls = [made(f"c{at}-{n}", name) for n, name in enumerate(names)]
    problem = None if fits else "/city: required"
    return said(text if calls else text or "Hm.", *calls, output_problem=problem)


def assert_answered_once(story: Story) -> None:
    """Accept a conversation in which each tool call has one result and no other has."""
    asked = [call["id"] for m in story.messages() for call in m.get("tool_calls") or ()]
    results = Counter(m["tool_call_id"] for m in story.messages() if m["role"] == "tool")
    waiting = {call.id for call in story.session.calls}
    assert set(asked) - waiting == set(results)
    assert set(results.values()) <= {1}


def assert_guarded(story: Story) -> None:
    """Accept a log in which what was noted is what counting all over gives, and what was obeyed."""
    rules = rules_of(story.config)
    guard, turn_id = Guard(), None
    ends = {
        value.get("id"): value for value in story.values if value["type"] == "llm.call.completed"
    }
    run = {event.id for event in only(ToolCallDispatched, story.log)}
    for noted in only(GuardNoted, story.log):
        assert rules is not None
        guard = guard if noted.turn_id == turn_id else Guard()
        calls = ends[noted.id]["message"]["tool_calls"]
        again = noted.private
        assert count(rules, guard, calls, noted.turn_id).noted == again
        skipped = {made["id"] for made in calls} if noted.private.skips else set()
        assert run.isdisjoint(skipped | set(noted.private.exceeded))
        turn_id = noted.turn_id
        counts = tuple(sorted(again.calls.items()))
        guard = Guard(again.signature, again.streak, again.tool_turns, counts)


@settings(max_examples=per_cent(40), deadline=None)
@given(guards=guards, course=replies, fails=st.sets(st.integers(0, 11)))
def test_whatever_is_asked_for_each_call_has_one_result(
    guards: dict[str, Any], course: list[Any], fails: set[int]
) -> None:
    config = {**CONFIG, "retry": ONCE, "guards": guards, "output_schema": {}}
    config["fallback_models"] = ["other:b"]
    story = Story(config=config, routes={"other:b": Route("other", "b", 100_000)})

    for at, (names, fits, text) in enumerate(course):
        if story.session.turn is None:
            story.submit()
        if at in fails:
            story.fail_model()
            continue
        answer = reply(at, names, text, fits=fits)
        content, calls = answer.message.get("content") or "", answer.message.get("tool_calls", ())
        story.answer(content, *calls, output_problem=answer.output_problem)
        while story.session.decisions:
            story.worker(story.session.decisions[0].call_id, "done")

    assert_answered_once(story)
    assert_guarded(story)
    turns = story.session.turns
    assert len(only(ModelFellBack, story.log)) <= turns
    assert len(only(OutputRejected, story.log)) <= turns * (guards.get("output_repairs", 2) + 1)


@settings(max_examples=per_cent(40), deadline=None)
@given(guards=guards, course=replies)
def test_a_worker_that_returns_what_is_proposed_does_what_the_engine_would(
    guards: dict[str, Any], course: list[Any]
) -> None:
    config = {**CONFIG, "guards": guards, "output_schema": {}}
    answers = [reply(at, names, text, fits=fits) for at, (names, fits, text) in enumerate(course)]
    asked = Deciding(config=config, worker_=running(*["done"] * 99), replies=[*answers])
    engine = Story(config=config)

    asked.submit()
    engine.submit()
    while engine.session.turn is not None:
        one = answers.pop(0) if answers else said("All is well.")
        content, calls = one.message.get("content") or "", one.message.get("tool_calls", ())
        engine.answer(content, *calls, output_problem=one.output_problem)
        while engine.session.decisions:
            engine.worker(engine.session.decisions[0].call_id, "done")

    assert_answered_once(asked)
    assert_guarded(asked)
    assert told(asked) == told(engine)
    assert len(only(ModelCallRequested, asked.log)) == len(only(ModelCallRequested, engine.log))
    ran = [{one.id for one in only(ToolCallDispatched, s.log)} for s in (asked, engine)]
    assert ran[0] == ran[1]
    assert len(only(ToolCallRequested, asked.log)) <= len(only(ToolCallRequested, engine.log))


def told(story: Story) -> list[tuple[str, str, str]]:
    """Return what was said, in an order that does not depend on when results came."""
    return sorted(
        (m["role"], m.get("tool_call_id") or "", m.get("content") or "") for m in story.messages()
    )
