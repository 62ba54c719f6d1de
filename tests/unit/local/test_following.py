"""A turn is followed frame by frame, in order, whatever overtakes what."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve

from everturn_local.bootstrap import Access
from everturn_local.following import TurnNotFinished, follow

Frames = list[dict[str, Any]]


def event(seq: int, prev_seq: int, kind: str = "message.new") -> dict[str, Any]:
    return {
        "type": "event",
        "cursor": f"{seq}.0-0",
        "seq": seq,
        "prev_seq": prev_seq,
        "event": {"payload": {"type": kind}},
    }


def skipped(seq: int, prev_seq: int) -> dict[str, Any]:
    return {"type": "skipped", "cursor": f"{seq}.0-0", "seq": seq, "prev_seq": prev_seq}


BEGIN = event(5, 4, "turn.started")


@contextmanager
def sending(*frames: dict[str, Any]) -> Iterator[Access]:
    """Serve a socket that answers a subscription with `frames` and stays open."""

    def answer(socket: ServerConnection) -> None:
        wanted = json.loads(socket.recv())
        assert (wanted["action"], wanted["turn_id"]) == ("subscribe", "t1")
        for frame in frames:
            socket.send(json.dumps(frame))
        for _ in socket:
            return

    with serve(answer, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        try:
            yield Access("", f"ws://127.0.0.1:{port}", "key", "acme")
        finally:
            server.shutdown()
            thread.join()


def followed(*frames: dict[str, Any], timeout_s: float = 10) -> Frames:
    with sending(*frames) as access:
        return list(follow(access, "s1", "t1", timeout_s))


def test_what_is_not_for_a_reader_is_stepped_over() -> None:
    last = event(9, 8, "turn.completed")

    seen = followed(BEGIN, event(6, 5), skipped(8, 6), last)

    assert seen == [BEGIN, event(6, 5), last]


def test_a_frame_that_overtook_a_skipped_place_waits_for_it() -> None:
    last = event(9, 8, "turn.completed")

    seen = followed(BEGIN, last, event(6, 5), skipped(8, 6))

    assert seen == [BEGIN, event(6, 5), last]


def test_what_is_skipped_before_a_turn_begins_is_nothing_to_wait_for() -> None:
    last = event(6, 5, "turn.completed")

    assert followed(skipped(4, 2), BEGIN, last) == [BEGIN, last]


def test_without_the_skipped_place_a_gap_stays() -> None:
    with pytest.raises(TurnNotFinished):
        followed(BEGIN, event(9, 8, "turn.completed"), timeout_s=0.2)
