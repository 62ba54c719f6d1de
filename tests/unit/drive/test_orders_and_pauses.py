"""Where the worker runs the model and the engine decides: configs, deltas, pauses."""

from __future__ import annotations

import json
from typing import Any

from everturn.commands.read_session import ReadSession
from everturn.ports.decider import DeliveryFailed, WorkerAnswer, WorkerTarget
from everturn.ports.streams import Watcher
from everturn.protocol.client_input import read_input
from unit.drive.doubles import ScriptedDecider, answered
from unit.drive.ordering import SCRIPT, replied, world_of
from unit.drive.world import KEY, MACHINE, QUICK_RETRY


def test_client_tools_of_a_turn_are_in_the_worker_s_request() -> None:
    """K-4, O-14: the header is read where the config is not the agent's own any more."""
    world = world_of(DeliveryFailed("no", "http_status", True, "no"), replied(), replied())
    view = {
        "session_id": "s1",
        "input": {
            "type": "client.messages",
            "agent_id": "helper",
            "messages": [{"role": "user", "content": "Hello."}],
            "client": {"tools": [{"name": "pick"}]},
        },
    }
    world.submitter()(MACHINE, read_input(view))
    world.advance()

    world.submit("And now?", turn="t2")
    world.advance()

    names = [
        [tool["name"] for tool in request["trigger"]["request"]["tools"]]
        for request in world.decider.requests
    ]
    own = ["look", "send", "put"]
    assert names == [[*own, "pick"], [*own, "pick"], own]


def test_the_worker_is_called_where_it_is_at_the_moment() -> None:
    """O-19, A-8: its URL and its secret are read for each delivery, all else is pinned."""
    world = world_of(replied(), replied(), worker_secret={"env": "OLD"}, system="Pinned.")
    world.submit("Hello.")
    world.advance()

    moved = {"worker": "https://other.example/hook", "worker_secret": {"env": "NEW"}}
    world.agent("helper", **{**SCRIPT, **moved, "system": "Not pinned."})
    world.submit("Again.", turn="t2")
    world.advance()

    first, second = world.decider.targets
    assert (first.url, first.secret) == ("https://worker.example/hook", "secret of OLD")
    assert (second.url, second.secret) == ("https://other.example/hook", "secret of NEW")
    prompts = [one["trigger"]["request"]["messages"][0] for one in world.decider.requests]
    assert [prompt["content"] for prompt in prompts] == ["Pinned.", "Pinned."]


def test_a_result_may_say_something_else_than_its_deltas() -> None:
    """W-11, W-10: the result alone is recorded."""
    world = world_of(replied("All of it."))
    world.store.add_watcher(KEY, Watcher("c1", "sub"))
    world.submit("Hello.")

    world.advance(decider=Streaming(world.decider, "Some", "thing else."))

    assert world.lanes.said() == "Something else."
    assert world.texts()[-1] == ("assistant", "All of it.")


class Streaming:
    """`Decider` that streams these pieces before another one's answer."""

    def __init__(self, decider: ScriptedDecider, *pieces: str) -> None:
        self._decider = decider
        self._pieces = pieces

    def deliver(self, target: WorkerTarget, body: bytes, **about: Any) -> WorkerAnswer:
        """Stream, then answer."""
        for piece in self._pieces:
            about["on_delta"](json.dumps({"text": piece}))
        return self._decider.deliver(target, body, **about)


def test_a_pause_of_the_engine_is_read_with_what_it_is_about() -> None:
    """8.7, I-1."""
    refused = {"type": "llm.error", "error": "no such model", "code": "provider_error"}
    world = world_of(answered(refused), retry=QUICK_RETRY, on_failure="interrupt")
    world.submit("Hello.")
    world.advance()

    read = ReadSession(world.store, world.reader)(MACHINE, "s1")

    (interrupt,) = read["interrupts"]
    failed = next(e for c in world.log() for e in c.events if e.type == "llm.call.errored")
    assert (read["status"], interrupt["reason"]) == ("interrupted", "llm_failed")
    assert interrupt["payload"] == {
        "call_id": failed.id,
        "error": "no such model",
        "code": "provider_error",
    }
    assert world.head().due_epoch_s is None


def test_a_reply_that_was_cut_off_is_read_whole() -> None:
    """8.7, G-4: its body stands once in the log, and in its place for every reader."""
    cut = replied("half an ans", finish_reason="length")
    world = world_of(cut, on_truncated="interrupt")
    world.submit("Hello.")
    world.advance()

    read = ReadSession(world.store, world.reader)(MACHINE, "s1")

    (interrupt,) = read["interrupts"]
    assert interrupt["reason"] == "llm_truncated"
    assert interrupt["payload"]["message"] == {
        "id": interrupt["payload"]["call_id"],
        "role": "assistant",
        "content": "half an ans",
    }
    assert world.texts() == [("user", "Hello.")]
