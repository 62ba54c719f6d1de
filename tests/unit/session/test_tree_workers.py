"""The message tree where a worker decides: views, news and suffixes, vetoes, forks of its own."""

from __future__ import annotations

from typing import Any

from everturn.session.decide.branches import LEFT
from everturn.session.events.tool_calls import CallVoided
from unit.session.building import CONFIG, made, only, said, types
from unit.session.deciding import Deciding, echo
from unit.session.steps import acting, silent, until, until_input
from unit.session.talking import texts, user


def test_suffix_news_and_view_give_the_same_tree() -> None:
    """V-3, conformance 23: on an append and on an edit."""

    def only_news(request: dict[str, Any]) -> dict[str, Any] | None:
        proposed = dict(echo(request))
        trigger = request["trigger"]
        if trigger["type"] == "client.messages":
            proposed["messages"] = trigger["messages"][trigger["new_from"] :]
        return proposed

    trees = []
    for worker in (echo, only_news):
        story = Deciding(worker_=worker)
        story.submit("u1")
        story.submit("u2")
        first, reply, *_ = story.messages()
        story.submit(view=(first, reply, user("edited")))
        story.submit(view=(user("root"),))
        trees.append(
            [
                (v["message"]["content"], v["private"].get("branch", 0))
                for v in story.values
                if v["type"] == "message.new"
            ]
        )

    assert trees[0] == trees[1]
    assert [branch for _, branch in trees[0]] == [0, 0, 0, 0, 1, 1, 2, 2]


def test_a_worker_is_sent_every_branch_and_the_path_of_the_question() -> None:
    """Q-1, V-7."""
    story = Deciding()
    story.submit("u1")
    story.submit("u2")
    first, reply, *_ = story.messages()
    story.submit(view=(first, reply, user("edited")))

    asked = [one for one in story.asked if one["trigger"]["type"] == "client.messages"][-1]

    assert [m["content"] for m in asked["messages"]] == ["u1", "All is well.", "u2", "All is well."]
    assert asked["trigger"]["new_from"] == 2
    assert [m["content"] for m in asked["trigger"]["messages"]] == ["u1", "All is well.", "edited"]
    last = story.asked[-1]
    assert [m["content"] for m in last["messages"]] == ["u1", "All is well.", "edited"]
    assert len(last["message_tree"]["nodes"]) == 5
    assert last["message_tree"]["head_id"] == last["messages"][-1]["id"]


def test_a_worker_vetoes_an_edit_by_leaving_the_messages_out() -> None:
    """V-9: the head stays, nothing is recorded."""
    story = Deciding()
    story.submit("u1")
    story.submit("u2")
    before = story.messages()
    story.worker_ = lambda _request: {"actions": [{"type": "done"}]}

    story.submit(view=(before[0], user("edited")))

    assert story.messages() == before
    assert story.session.branches == 0


def test_a_regeneration_moves_the_head_in_the_commit_of_the_answer() -> None:
    """V-8, conformance 21."""
    story = Deciding()
    story.submit("u1")
    first, _ = story.messages()
    story.do(story.submitting(view=(first,), decides="worker"))
    decision = until(story, "client.messages")

    before = len(story.log)
    story.respond(decision.id, story.question(decision.id)["proposed"], attempt=1)

    kinds = types(story.log[before:])
    assert kinds[:2] == ["decision.completed", "head.moved"]
    story.run()
    assert len([v for v in story.values if v["type"] == "message.new"]) == 3


def test_a_workers_own_fork_gives_up_what_runs_on_the_left_branch() -> None:
    """V-1, D-13, conformance 20: calls, their orders, and results that were not told yet."""
    calls = [made("c1"), made("c2"), made("c3")]
    story = Deciding(worker_=silent("tool.execute"))
    story.replies = [said("", *calls)]
    story.submit("u1")
    story.settle({"type": "tool.result", "id": "c2", "result": "told later"})
    first = story.messages()[0]
    live = next(one for one in story.session.decisions if one.status == "deferred")

    events = story.respond(live.id, {"messages": [first, user("never mind")]})

    assert {one.id for one in only(CallVoided, events)} == {"c1", "c3"}
    assert {one.reason for one in only(CallVoided, events)} == {LEFT}
    assert [one for one in story.session.decisions if one.trigger == "tool.finished"] == []
    assert texts(story) == ["u1", "never mind"]


def test_a_model_call_on_a_left_branch_ends_unheard() -> None:
    """V-1, conformance 20: a late settle is refused, its last words are noted."""
    call = {"type": "tool.call", "name": "x", "arguments": {}}
    worker = acting("client.messages", {"type": "llm.call"}, call)
    story = Deciding(worker_=worker)
    story.submit("u0")
    story.worker_ = acting("client.messages", {"type": "llm.call"}, call)
    story.do(story.submitting("u1", decides="worker"))
    order = until(story, "tool.execute")
    model_call, first = story.model_call, story.messages()[0]

    events = story.respond(order.id, {"messages": [first, user("x")]}, attempt=1)

    (voided, *_) = only(CallVoided, events)
    assert (voided.id, voided.reason, voided.private.aborts) == (model_call.id, LEFT, True)
    assert story.session.call(model_call.id) is None
    assert [one.id for one in story.session.aborting] == [model_call.id]


def test_an_id_less_system_message_before_the_view_forks_at_the_root() -> None:
    """V-3, V-5, conformance 23."""
    story = Deciding()
    story.submit("u1")
    path = story.messages()
    decision = until_input(story, "u2")

    view = [{"role": "system", "content": "Be brief."}, *path, user("u2")]
    story.respond(decision.id, {"messages": view})

    assert texts(story) == ["Be brief.", "u1", "All is well.", "u2"]
    assert story.session.stretches == ()
    assert story.session.branches == 1


def test_state_of_a_worker_forks_with_the_path() -> None:
    """Z-2, Z-4, conformance 24: one that was written before any message holds on every path."""
    story = Deciding(worker_=lambda r: {**echo(r), "state": {"at": len(r["messages"])}})
    story.submit("u1")
    path = story.messages()
    first = story.values[story.session.state_seq - 1]["state"]
    story.worker_ = lambda r: {**echo(r), "state": {"later": True}}
    story.submit("u2")
    story.worker_ = echo

    story.submit(view=(*path, user("edited")))

    asked = story.asked[-1]
    assert asked["state"] == first
    story.submit(view=(user("root"),))
    assert story.asked[-1]["state"] == {"at": 0}


def test_the_config_of_agents_is_looked_up_on_the_path() -> None:
    """Z-5: a config that another branch wrote does not hold here."""
    story = Deciding()
    story.submit("u1")
    path = story.messages()
    other = {**CONFIG, "system": "You are a pirate."}
    story.worker_ = acting("client.messages", {"type": "llm.call"}, agent=other)
    story.submit("u2")
    story.worker_ = echo

    story.submit(view=(path[0], user("edited")))

    assert story.asked[-1]["agent"]["system"] == CONFIG["system"]
    assert story.requests()[-1]["messages"][0]["content"] == CONFIG["system"]


def test_a_call_that_hangs_on_what_both_paths_have_goes_on() -> None:
    """V-1: its anchor is on the new path."""
    call = {"type": "tool.call", "id": "c1", "name": "x", "arguments": {}}
    clients = {**call, "id": "c0", "handler": "client", "name": "look_around"}
    story = Deciding(worker_=acting("client.messages", clients, call))
    story.do(story.submitting("u1", decides="worker"))
    order = until(story, "tool.execute")
    first = story.messages()[0]
    story.respond(order.id, {"messages": [user("below it")]}, attempt=1)
    story.settle({"type": "tool.result", "id": "c1", "result": 1})
    report = until(story, "tool.finished")
    more = {"type": "tool.call", "id": "c2", "name": "x", "arguments": {}}

    events = story.respond(report.id, {"messages": [first], "actions": [more]}, attempt=1)

    assert only(CallVoided, events) == []
    assert [one.id for one in story.session.calls] == ["c0", "c2"]
    assert texts(story) == ["u1"]


def test_a_path_without_a_config_has_none() -> None:
    """Q-2, Z-5: what another branch was told does not hold here."""

    def late(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "session.start":
            return {}
        done = [{"type": "done"}]
        return {"messages": request["trigger"]["messages"], "agent": CONFIG, "actions": done}

    story = Deciding(worker_=late)
    story.submit("u1")
    story.worker_ = lambda request: {
        "messages": request["trigger"]["messages"],
        "actions": [{"type": "done"}],
    }

    story.submit(view=(user("root"),))
    story.submit("more")

    assert story.asked[-1]["agent"] is None
    assert story.session.agent_seq == 0


def test_a_tool_that_was_asked_for_before_any_message_is_held_to_the_config_of_that_time() -> None:
    """U-3: it has no anchor."""
    call = {"type": "tool.call", "id": "c1", "name": "get_weather", "arguments": {"city": 1}}
    story = Deciding(worker_=acting("session.start", call, agent=CONFIG))

    story.submit("u1")

    order = next(one for one in story.asked if one["trigger"]["type"] == "tool.execute")
    assert order["trigger"]["input"]["status"] == "invalid"
