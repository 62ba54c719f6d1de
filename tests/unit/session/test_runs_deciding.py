"""Runs where a worker decides: what its questions carry, also of runs that waited."""

from __future__ import annotations

from typing import Any

from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.mail import InboxEnqueued
from everturn.session.events.messages import MessageNew
from everturn.session.events.runs import RunRequested
from everturn.session.events.sessions import TurnCompleted, TurnStalled, TurnStarted
from everturn.session.mail_commands import TakeMessage
from everturn.session.refs import same_as
from unit.session.asking_runs import WAVE, ask, begin, edit, enqueue, turns_of, users
from unit.session.building import only, types
from unit.session.deciding import Deciding, Worker, echo

HOPS: dict[str, Any] = {"tools": [{"name": "hop", "input": {"type": "object"}}]}


def inputs(story: Deciding) -> list[dict[str, Any]]:
    """Return the questions about inputs that were put, in order."""
    return [one for one in story.asked if one["trigger"]["type"] == "client.messages"]


def tools(request: dict[str, Any]) -> list[str]:
    """Return the names of the tools that the client of an input brings along."""
    return [tool["name"] for tool in request["trigger"]["client"].get("tools") or ()]


def news(request: dict[str, Any]) -> list[Any]:
    """Return what is new in the view of an input."""
    trigger = request["trigger"]
    return [one["content"] for one in trigger["messages"][trigger["new_from"] :]]


def slow() -> Worker:
    """Return a worker that answers the first input later."""
    left = [True]

    def answer(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["trigger"]["type"] == "client.messages" and left:
            left.pop()
            return None
        return echo(request)

    return answer


def go_on(story: Deciding) -> None:
    """Have the question that was deferred answered, and all that follows."""
    (one,) = story.session.decisions
    story.respond(one.id, story.question(one.id)["proposed"])
    story.run()


def test_a_run_in_a_new_session_asks_for_its_start_once() -> None:
    story = Deciding()

    events = ask(story, client=WAVE)

    assert types(events)[:4] == [
        "session.created",
        "run.requested",
        "turn.started",
        "decision.queued",
    ]
    asked = only(DecisionQueued, events)
    assert [one.trigger_type for one in asked] == ["session.start", "client.messages"]
    assert asked[-1].client == WAVE
    story.run()
    assert story.triggers()[:2] == [
        "session.start",
        "client.messages",
    ]
    assert tools(inputs(story)[0]) == ["wave"]


def test_a_run_without_tools_of_the_client_carries_none() -> None:
    story = Deciding()

    events = ask(story)

    assert only(DecisionQueued, events)[-1].client is None


def test_a_session_that_began_without_a_turn_is_started_by_its_worker() -> None:
    story = Deciding()

    events = begin(story)
    story.run()

    assert types(events) == ["session.created", "decision.queued", "session.described"]
    assert story.triggers() == ["session.start"]
    assert story.session.agent_seq > 0
    assert begin(story) == ()
    ask(story)
    story.run()
    assert story.triggers().count("session.start") == 1
    assert users(story) == ["Hello."]


def test_the_first_run_may_come_before_the_worker_has_answered_the_start() -> None:
    story = Deciding()
    begin(story)

    ask(story)
    story.run()

    assert story.triggers()[:2] == [
        "session.start",
        "client.messages",
    ]
    assert users(story) == ["Hello."]


def test_a_run_that_waited_asks_with_the_client_context_of_its_own_order() -> None:
    story = Deciding()
    story.worker_ = slow()
    ask(story, client=WAVE)
    story.run()
    waited = ask(story, "run-2", "And then?", client=HOPS)

    go_on(story)

    (asked,) = only(RunRequested, waited)
    seq = story.log.index(asked) + 1
    queued = next(one for one in only(DecisionQueued, story.log) if one.turn_id == "run-2")
    assert (queued.news, queued.client) == (None, None)
    assert queued.refs["client"] == same_as(seq, "client")
    assert set(queued.refs) == {"news.0", "client"}
    questions = inputs(story)
    assert [tools(one) for one in questions] == [["wave"], ["hop"]]
    assert news(questions[-1]) == ["And then?"]
    assert turns_of(story) == ["run-1", "run-2"]


def test_a_plain_message_after_a_run_brings_no_tools_along() -> None:
    story = Deciding()
    ask(story, client=WAVE)
    story.run()

    enqueue(story)
    story.run()

    assert tools(inputs(story)[-1]) == []
    started = only(TurnStarted, story.log)[-1]
    assert (started.private.run_seq, started.stream, started.reason) == (0, False, "submit")


def test_the_question_about_a_run_that_waited_is_the_same_when_it_is_put_again() -> None:
    story = Deciding()
    story.worker_ = slow()
    ask(story, client=WAVE)
    story.run()
    view = [{"role": "user", "content": one} for one in ("Read this.", "Sum it up.")]
    ask(story, "run-2", view=view, client=HOPS)
    edit(story, story.session.inbox[0].id, "Translate it.")
    (one,) = story.session.decisions
    story.respond(one.id, story.question(one.id)["proposed"])
    story.worker_ = lambda request: None if request["turn_id"] == "run-2" else echo(request)
    story.run()

    (live,) = story.session.decisions
    first = story.question(live.id)
    story.lose_question(live.id, started="unknown")
    story.proceed(after_s=60)

    again = story.question(live.id)
    delivery = {"attempts": 0, "deadline": ""}
    assert {**again, **delivery} == {**first, **delivery}
    assert (first["attempts"], again["attempts"]) == (1, 2)
    assert news(first) == ["Read this.", "Translate it."]


def test_messages_of_one_id_become_messages_of_their_own() -> None:
    """IB-3: the same message sent twice is two entries."""
    story = Deciding()
    story.worker_ = slow()
    ask(story)
    story.run()
    enqueue(story, "t-2", "mine", id="m1")
    enqueue(story, "t-3", "yours", id="m1")
    view = [{"id": "m1", "role": "user", "content": "ours"}, {"role": "user", "content": "Now."}]
    ask(story, "run-4", view=view)

    go_on(story)

    assert users(story) == ["Hello.", "mine", "yours", "ours", "Now."]
    assert len({one["id"] for one in story.messages()}) == len(story.messages())
    assert story.session.branches == 0


def test_a_message_of_another_session_keeps_its_sender_under_another_id() -> None:
    story = Deciding()
    story.worker_ = slow()
    ask(story)
    story.run()
    enqueue(story, "t-2", "mine", id="m1")
    mail = {"id": "m1", "role": "user", "content": "theirs"}
    story.do(lambda at, facts: TakeMessage(at, facts, mail, "m-turn"))

    go_on(story)

    assert users(story) == ["Hello.", "mine", "theirs"]
    kinds = [one.private.source.kind for one in only(MessageNew, story.log)]
    assert [kind for kind in kinds if kind in {"user", "agent"}] == ["user", "user", "agent"]
    assert [one.private.is_users for one in only(InboxEnqueued, story.log)] == [True, False]


def test_a_run_that_waits_is_stopped_before_the_worker_hears_of_it() -> None:
    story = Deciding()
    story.worker_ = slow()
    ask(story)
    story.run()
    ask(story, "run-2", "b")

    story.cancel("run-2", keep_inbox=True)
    go_on(story)

    assert turns_of(story) == ["run-1"]
    assert len(inputs(story)) == 1


def test_a_run_that_waits_for_nothing_is_over_and_the_next_one_opens() -> None:
    """Whoever started it waits for its end; any other turn stalls, and is gone on with."""

    def says_nothing(request: dict[str, Any]) -> dict[str, Any]:
        is_input = request["trigger"]["type"] == "client.messages"
        return {"messages": request["proposed"]["messages"]} if is_input else echo(request)

    story = Deciding()
    story.worker_ = says_nothing
    ask(story, "run-1")
    story.run()
    ask(story, "run-2")
    story.run()

    ended = only(TurnCompleted, story.log)
    assert [(one.turn_id, one.outcome) for one in ended] == [
        ("run-1", "quiescent"),
        ("run-2", "quiescent"),
    ]
    assert only(TurnStalled, story.log) == []
    assert story.session.turn is None
