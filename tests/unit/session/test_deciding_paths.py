"""Sessions whose worker decides: paths, turns and logs at their edges."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.errors import DefectError
from everturn.session.events.decisions import AsOf, DecisionDispatched, DecisionPrivate
from everturn.session.events.messages import MessageNew
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.formats import format_of
from everturn.session.ground import Ground
from everturn.session.proposal import proposal
from everturn.session.question import Asking, Readers, question
from everturn.session.records import Records
from everturn.session.request import rebuild
from everturn.session.state import Decision, Session
from unit.session.building import CONFIG, HELLO, Story, made, only, said, types
from unit.session.deciding import Deciding, echo, running
from unit.session.steps import (
    AFAR,
    READERS,
    TWICE,
    acting,
    begun,
    interrupted,
    resumed,
    until,
    until_input,
)
from unit.session.test_client_tools import PICK, answer, view

# ---- messages that leave the path


def first_news(story: Deciding, decision: Decision) -> dict[str, Any]:
    """Return the first message of the input that a question is about."""
    queued = Records(story.events()).queued(decision.seq)
    assert queued is not None
    return dict((queued.news or [])[0])


def test_a_view_that_says_nothing_new_writes_nothing() -> None:
    """V-9."""
    story = Deciding()
    story.submit()
    decision = until_input(story, "More.")

    story.respond(decision.id, {"messages": story.messages()})

    assert len(story.messages()) == 2


def test_news_behind_a_place_that_moved_on_are_refused() -> None:
    """V-3.2: branches are not written yet."""
    story = begun(worker_=lambda r: {} if r["trigger"]["type"] != "session.start" else echo(r))
    start = until(story, "session.start")
    (waiting,) = [one for one in story.session.decisions if one.status == "queued"]
    news = first_news(story, waiting)
    moved = {"id": "m9", "role": "system", "content": "Before all."}
    story.respond(start.id, {"agent": CONFIG, "messages": [moved]})
    decision = until(story, "client.messages")

    appended = story.respond(decision.id, {"messages": [news]})

    assert types(appended)[1] == "message.new"


def test_a_worker_rewrites_what_a_tool_said() -> None:
    """V-9: the words are the worker's then."""

    def rewriting(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["trigger"]["type"] != "tool.finished":
            return running("secret")(request)
        (message,) = request["proposed"]["messages"]
        return {**request["proposed"], "messages": [{**message, "content": "hidden"}]}

    story = Deciding(worker_=rewriting)
    story.replies = [said("", made("c1")), said("done")]

    story.submit()

    written = [e for e in only(MessageNew, story.log) if e.private.source.kind == "worker"]
    assert [one.message["content"] for one in written] == ["hidden"]


def test_a_client_that_answers_one_of_its_tools_while_the_worker_runs_another() -> None:
    """T-3.2, U-7: the same turn id is no further name; other handlers' calls go on."""
    story = Deciding(worker_=lambda r: {} if r["trigger"]["type"] == "tool.execute" else echo(r))
    story.replies = [said("", made("c1", "pick"), made("c2", "send_email")), said("thanks")]
    story.submit(view=(HELLO,), client={"tools": [PICK]})
    more = (answer("c1", "a"), {"role": "user", "content": "And?"})

    events = story.submit(view=view(story, *more), turn_id="t1")

    assert "turn.continued" not in types(events)
    assert [call.id for call in story.session.calls] == ["c2"]
    assert story.asked[-1]["proposed"].get("actions") is None


def test_the_engine_waits_for_its_other_tools_when_a_client_answers() -> None:
    story = Story()
    story.submit(view=(HELLO,), client={"tools": [PICK]})
    story.answer("", made("c1", "pick"), made("c2", "send_email"))
    more = (answer("c1", "a"), {"role": "user", "content": "And?"})

    events = story.submit(view=view(story, *more), turn_id="t1b")

    assert "llm.call.requested" not in types(events)
    story.worker("c2", "sent")
    assert any(call.kind == "llm_call" for call in story.session.calls)


def test_an_action_means_nothing_to_the_engine() -> None:
    """8.3, T-9."""
    story = Story()

    events = story.submit(input_type="client.action", view=(), action={"name": "hi"})

    assert types(events)[-1] == "turn.stalled"


# ---- turns that nobody opened


def test_calls_of_a_late_finish_open_a_turn() -> None:
    """T-15."""

    def late(request: dict[str, Any]) -> dict[str, Any] | None:
        trigger = request["trigger"]["type"]
        if trigger == "client.messages":
            return {**echo(request), "actions": [{"type": "llm.call"}, {"type": "done"}]}
        if trigger == "llm.finished" and request["turn_id"] is None:
            return {"actions": [{"type": "llm.call"}, {"type": "done"}]}
        return echo(request)

    story = Deciding(worker_=late)

    story.submit()

    reasons = [v.get("reason", "submit") for v in story.values if v["type"] == "turn.started"]
    assert reasons == ["submit", "late_finish"]


def test_a_config_that_is_the_same_is_not_recorded_again() -> None:
    """Z-3, Z-5."""
    story = Deciding(worker_=lambda r: {**echo(r), "agent": CONFIG})

    story.submit()

    assert types(story.log).count("agent.updated") == 1


# ---- logs and formats


def test_older_code_is_kept_away_from_what_it_does_not_know() -> None:
    decided, plain = Deciding(), Story()
    decided.submit()
    plain.submit()

    assert (format_of(plain.session, plain.log), format_of(decided.session)) == (1, 2)
    assert format_of(Session(), only(DecisionDispatched, decided.log)) == 1


@pytest.mark.parametrize("trigger", ["tool.execute", "llm.execute", "tool.finished"])
def test_a_log_that_does_not_hold_a_question_is_a_defect(trigger: str) -> None:
    story = Deciding()
    story.submit()
    queued = story.events()[3].model_copy(update={"trigger_type": trigger})
    dispatched = DecisionDispatched(
        id="d", attempt=1, deadline_ms=1, private=DecisionPrivate(as_of=AsOf(seq=1))
    )
    decision = Decision("d", trigger, 3, dispatched_seq=4)
    log = {3: queued, 4: dispatched}

    for records in (Records({}), Records(log)):
        with pytest.raises(DefectError):
            question(Asking(story.session, decision, {}, records, READERS))


def test_a_model_call_that_nothing_asked_for_is_a_defect() -> None:
    story = begun(config=AFAR)
    decision = until(story, "llm.execute")
    events = {seq: e for seq, e in story.events().items() if not isinstance(e, ModelCallRequested)}

    with pytest.raises(DefectError, match="nothing asked"):
        question(Asking(story.session, decision, {}, Records(events), READERS))


def test_a_call_that_the_log_lacks_is_listed_by_its_status_alone() -> None:
    noted = {"id": "c1", "status": "pending", "attempt": 1}

    shown = Records({}).calls(AsOf(seq=1, calls=(noted,)))

    assert shown == [{"id": "c1", "kind": "tool_call", "status": "pending", "attempt": 1}]


def test_a_call_that_nobody_declared_is_valid_whatever_it_says() -> None:
    """U-3, U-4."""
    call = {"type": "tool.call", "id": "c1", "name": "mystery", "arguments": "no json"}
    story = begun(worker_=acting("client.messages", call))
    story.worker_ = acting("client.messages", call)
    decision = until(story, "tool.execute")

    asking = Asking(
        story.session,
        story.session.decision(decision.id) or decision,
        {},
        Records(story.events()),
        Readers(lambda _s, _t: {"status": "malformed", "error": "x"}, READERS.to_format),
    )

    assert question(asking)["trigger"]["input"] == {"status": "valid", "value": "no json"}
    assert question(asking)["proposed"] == {}


# ---- proposals that no other test comes to


def test_what_is_proposed_for_a_branch_that_ends_in_a_reply() -> None:
    """G-1, I-14."""
    ground = Ground("s1", "d1", {"model": "m"}, path_end={"role": "assistant", "content": "Hi"})
    view_ = [{"id": "a1", "role": "assistant", "content": "Hi"}]
    trigger = {"type": "client.messages", "messages": view_, "new_from": 1, "client": {}}

    done = [{"type": "done", "data": "Hi"}]
    assert proposal(trigger, ground) == {"messages": view_, "actions": done}
    assert proposal({"type": "interrupt.resumed"}, ground) == {"actions": done}


def test_a_pause_gives_up_the_workers_model_calls_and_their_questions() -> None:
    """I-4."""
    story = begun(config=AFAR)
    until(story, "llm.execute")

    interrupted(story)

    assert (story.session.calls, story.session.decisions) == ((), ())
    assert story.session.is_paused


# ---- what is left of time, and of the engine's own pauses


def test_what_was_deferred_waits_for_its_deadline_and_what_it_fails_ends_the_rest() -> None:
    """D-7, D-8, D-14."""
    story = begun(worker_=lambda _request: None)
    story.policy = type(story.policy)(max_attempts=1)
    story.run()

    early = story.proceed(299)
    late = story.proceed(1)

    assert early == ()
    assert types(late)[0] == "decision.errored"
    assert (story.session.decisions, story.session.last_outcome) == ((), "failed")


def test_a_lapsed_model_call_leaves_other_questions_alone() -> None:
    """D-13."""
    calls = (
        {"type": "llm.call"},
        {"type": "tool.call", "id": "c1", "name": "send_email", "arguments": {}},
    )
    story = begun(config=AFAR, worker_=acting("client.messages", *calls))
    until(story, "llm.execute")

    events = story.proceed(61)

    dropped = [event for event in events if event.type == "decision.dropped"]
    assert len(dropped) == 1
    assert any(one.trigger == "tool.execute" for one in story.session.decisions)


def test_a_model_call_without_a_timeout_has_no_deadline() -> None:
    patient = {**TWICE, "timeout_secs": None}
    story = begun(config={**AFAR, "retry": patient})

    decision = until(story, "llm.execute")

    assert "deadline" not in story.question(decision.id)["trigger"]


def test_a_request_with_messages_of_its_own_is_rebuilt_from_the_log() -> None:
    """L-3, RH-5."""
    prompt = [{"role": "user", "content": "Only this."}]
    story = Deciding(worker_=acting("client.messages", {"type": "llm.call", "messages": prompt}))
    story.submit()
    asked = only(ModelCallRequested, story.log)[0]

    built = rebuild(asked, Records(story.events()).header(asked.private.header_seq), ())

    assert built.body["messages"] == prompt


def test_an_engine_decided_session_is_paused_and_asks_its_model_again() -> None:
    """I-4, I-14."""
    story = Story()
    story.submit()
    interrupted(story)
    interrupted(story, "int-2")

    first, second = resumed(story), resumed(story, "int-2")

    assert "llm.call.requested" not in first
    assert "llm.call.requested" in second
    story.answer("Hello.")
    assert story.session.last_outcome == "done"


def test_a_result_of_an_engine_decided_session_waits_for_the_resume() -> None:
    """I-6, P-6."""
    story = Story()
    story.submit()
    story.answer("", made("c1"), made("c2", "send_email"))
    interrupted(story)

    held = types(story.worker("c1", "sunny"))
    paused = story.proceed()
    still = resumed(story)
    after = types(story.worker("c2", "sent"))

    assert "llm.call.requested" not in held
    assert paused == ()
    assert "llm.call.requested" not in still
    assert "llm.call.requested" in after


def test_the_last_result_during_a_pause_is_answered_after_it() -> None:
    story = Story()
    story.submit()
    story.answer("", made("c1"))
    interrupted(story)
    story.worker("c1", "sunny")

    events = resumed(story)

    assert "llm.call.requested" in events


def test_a_pause_behind_a_reply_ends_the_turn_when_it_is_over() -> None:
    """I-14."""
    story = Story()
    story.submit()
    story.answer("Hello.")
    story.submit(input_type="client.action", view=(), action={"name": "hi"})
    interrupted(story)

    events = resumed(story)

    assert events[-2:] == ["turn.completed", "session.done"]
