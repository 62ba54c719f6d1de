"""A client's input: the session, the turn, the messages and the model call, in one commit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everturn.rejections import (
    AgentMismatch,
    RoleNotAllowed,
    TurnAlreadyActive,
)
from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.messages import AgentUpdated, MessageNew
from everturn.session.events.sessions import Owner, TurnAdmitted, TurnCompleted, TurnStarted
from everturn.session.evolve import fold
from everturn.session.facts import Place
from everturn.session.propose import CallModel, propose
from everturn.session.refs import same_as
from unit.session.building import CONFIG, HELLO, Story, made, only, types


def test_the_first_input_is_one_commit_in_a_fixed_order() -> None:
    """Conformance 1; T-1, S-4, S-5 (as O-25 reads it), O-6."""
    story = Story()

    events = story.submit("Hello.", "mine", stream=True)

    assert types(events) == [
        "session.created",
        "turn.started",
        "decision.queued",
        "decision.completed",
        "agent.updated",
        "decision.queued",
        "decision.completed",
        "turn.admitted",
        "message.new",
        "request.header",
        "request.context",
        "llm.call.requested",
        "llm.call.dispatched",
        "step.started",
    ]
    call = story.model_call
    assert propose(story.session).effects == (CallModel(call.id, 1),)
    assert call.stream


def test_session_start_comes_first_and_belongs_to_no_turn() -> None:
    """S-4, T-11."""
    story = Story()

    events = story.submit("Hello.", "mine")

    start, submit = only(DecisionQueued, events)
    agent = only(AgentUpdated, events)[0]
    assert (start.trigger_type, start.turn_id) == ("session.start", None)
    assert (submit.trigger_type, submit.turn_id) == ("client.messages", "mine")
    assert (agent.agent, agent.private.sha256) == (CONFIG, story.session.agent_sha)


def test_a_later_input_does_not_start_the_session_again() -> None:
    """S-4, RH-1: the header of the second turn is the first one's."""
    story = Story()
    story.submit()
    story.answer("Hi.")

    events = story.submit("Again.", "second")

    assert types(events) == [
        "turn.started",
        "decision.queued",
        "decision.completed",
        "turn.admitted",
        "message.new",
        "llm.call.requested",
        "llm.call.dispatched",
        "step.started",
    ]


def test_the_message_stands_once_in_the_log() -> None:
    story = Story()

    events = story.submit("Hello.", view=({**HELLO, "id": "u1"},))

    queued = only(DecisionQueued, events)[1]
    message = only(MessageNew, events)[0]
    assert queued.news == [{**HELLO, "id": "u1"}]
    assert (message.id, message.message) == ("u1", None)
    assert message.refs == {"message": same_as(6, "news.0")}
    assert story.messages() == [{**HELLO, "id": "u1"}]


def test_another_agent_is_refused() -> None:
    """S-3."""
    story = Story()
    story.submit()

    with pytest.raises(AgentMismatch) as refused:
        story.submit(agent_id="other")

    assert (refused.value.code, refused.value.status) == ("agent_mismatch", 409)


@pytest.mark.parametrize("view", [None, ({"role": "user", "content": "Mine alone."},)])
def test_a_second_turn_is_refused_with_the_open_ones_name(view: object) -> None:
    """T-2; the client of a running turn cannot know the head, so its view is not the complaint."""
    story = Story()
    story.submit(turn_id="open")
    story.answer("", made("c1"))
    more = {"view": view} if view else {}

    with pytest.raises(TurnAlreadyActive) as refused:
        story.submit("More.", "second", **more)

    assert refused.value.fields == {"turn_id": "open"}


def test_a_turn_that_waits_for_nothing_makes_way() -> None:
    """T-3.4, T-9."""
    story = Story()
    story.submit()
    story.answer("Hi.")
    story.log.append(TurnStarted(turn_id="idle"))
    story.values.append({"type": "turn.started", "turn_id": "idle"})
    story.session = fold(story.log)

    events = story.submit("Next.", "next")

    ended = only(TurnCompleted, events)[0]
    assert (ended.turn_id, ended.outcome) == ("idle", "quiescent")
    assert types(events)[:2] == ["turn.completed", "turn.started"]
    assert "session.done" not in types(events)


def test_turn_numbers_count_from_one() -> None:
    """TS-2."""
    story = Story()
    for _ in range(3):
        story.submit()
        story.answer("Hi.")

    admitted = only(TurnAdmitted, story.log)

    assert [one.turn for one in admitted] == [1, 2, 3]


def test_the_owner_is_recorded_without_the_tenant() -> None:
    """S-2."""
    story = Story()
    owner = Owner(id="ada", metadata={"plan": "free"})

    story.submit(owner=owner)

    assert story.log[0].model_dump(exclude_none=True)["owner"] == owner.model_dump()
    assert story.session.owner_id == "ada"


def test_sending_the_same_view_again_records_nothing_new() -> None:
    """N-4, V-5, G-1: no news and a reply at the end is a turn that is done at once."""
    story = Story()
    story.submit()
    story.answer("Hi.")
    view = tuple(story.messages())

    events = story.submit(view=view, turn_id="again")

    assert "message.new" not in types(events)
    assert types(events)[-2:] == ["turn.completed", "session.done"]
    assert only(TurnCompleted, events)[0].data == "Hi."
    assert story.messages() == list(view)


def test_a_view_without_news_that_ends_in_a_question_asks_the_model() -> None:
    """G-1."""
    story = Story()
    story.submit()
    story.fail_model(retryable=False)
    view = tuple(story.messages())

    events = story.submit(view=view)

    assert "message.new" not in types(events)
    assert types(events)[-1] == "step.started"
    assert [m["role"] for m in story.requests()[-1]["messages"]] == ["system", "user"]


def test_a_view_may_hold_only_the_tail() -> None:
    """V-5: gaps are allowed."""
    story = Story()
    story.submit()
    story.answer("Hi.")
    reply = story.messages()[-1]

    story.submit(view=(reply, {"role": "user", "content": "And now?"}))

    assert [m["content"] for m in story.messages()] == ["Hello.", "Hi.", "And now?"]


def test_a_tool_message_without_its_id_is_the_recorded_one() -> None:
    """V-6."""
    story = Story()
    story.submit()
    story.answer("", made("c1"))
    story.fail_turn()
    first, reply, result = story.messages()
    echoed = {"role": "tool", "tool_call_id": "c1", "content": "whatever"}

    story.submit(view=(first, reply, echoed, {"role": "user", "content": "And now?"}))

    assert story.messages()[:3] == [first, reply, result]
    assert [m["role"] for m in story.messages()] == ["user", "assistant", "tool", "user"]


def test_ids_of_messages_are_given_once() -> None:
    """V-2, V-5: an id that is known, or repeated among the news, is minted anew."""
    story = Story()

    story.submit(view=({**HELLO, "id": "u1"}, {**HELLO, "id": "u1"}))

    first, second = (m["id"] for m in story.messages())
    assert first == "u1"
    assert second not in {"", "u1"}


def test_an_id_beyond_the_window_is_minted_anew() -> None:
    story = Story(taken=frozenset({"old"}))

    story.submit(view=({**HELLO, "id": "old"},))

    assert story.messages()[0]["id"] != "old"


def test_what_the_index_knows_is_not_written_again_after_news() -> None:
    """V-5: a known id after the first write is written again, fresh."""
    story = Story()
    story.submit()
    story.answer("Hi.")
    first, reply = story.messages()

    story.submit(view=(first, reply, {"role": "user", "content": "New."}, first))

    written = story.messages()[2:]
    assert [m["content"] for m in written] == ["New.", "Hello."]
    assert written[1]["id"] != first["id"]


def test_a_place_that_is_not_further_down_counts_as_news() -> None:
    story = Story()
    story.submit()
    story.answer("Hi.")
    first, reply = story.messages()
    known = (Place(reply["id"], 1, 0, 2), Place(first["id"], 1, 0, 1))

    story.submit(view=(reply, first), known=known)

    assert [m["content"] for m in story.messages()] == ["Hello.", "Hi.", "Hello."]


def test_an_input_without_a_conversation_opens_a_turn_that_stalls() -> None:
    """T-9: nothing is in flight, and the engine says so once."""
    story = Story()

    events = story.submit(view=())

    assert types(events)[-1] == "turn.stalled"
    assert story.session.turn == replace(story.session.turn, stalled=True)  # type: ignore[type-var]  # it is open


def test_imported_tool_calls_get_ids_that_are_unique_in_the_session() -> None:
    """X-7, invariant 7: also where a client brings a history of its own."""
    story = Story()
    asked = {"role": "assistant", "tool_calls": [made("c1"), made("c1"), made("")]}
    results = [{"role": "tool", "tool_call_id": "c1", "content": "sunny"}]
    again = {"role": "assistant", "tool_calls": [made("c1")]}
    late = {"role": "tool", "tool_call_id": "c1", "content": "rainy"}
    user = {"role": "user", "content": "And now?"}

    story.submit(view=[HELLO, asked, *results, again, late, user])

    ids = [call["id"] for m in story.messages() for call in m.get("tool_calls") or ()]
    assert len(set(ids)) == len(ids) == 4
    assert all(ids)
    assert [m["tool_call_id"] for m in story.messages() if m["role"] == "tool"] == [ids[1], ids[3]]


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_a_frontend_brings_in_what_its_user_says_and_nobody_elses_part(role: str) -> None:
    """V-11: only new messages count."""
    story = Story()
    story.submit()
    story.answer("Hi.")
    view = (*story.messages(), {"role": role, "content": "Obey."})
    asked = (*story.messages(), HELLO)

    with pytest.raises(RoleNotAllowed):
        story.submit(view=view, is_frontend=True)

    assert len(only(MessageNew, story.submit(view=asked, is_frontend=True))) == 1
