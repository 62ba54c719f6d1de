"""What leaves an event before it is stored, and how it comes back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import pytest

from everturn.errors import StoreRefused
from everturn.ports.sessions import Logged
from everturn.session.events.stored import Event, to_json
from everturn.session.refs import BlobPlace, Ref, same_as
from everturn.store.bodies import INLINE_BODY_BYTES, materialise, read_event, spill
from sample_events import created, message
from unit.store.samples_of_sessions import FIELDS, with_body


class Bucket:
    """Objects by their hash."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.loads = 0

    def keep(self, body: bytes) -> BlobPlace:
        sha256 = hashlib.sha256(body).hexdigest()
        self.bodies[sha256] = body
        return BlobPlace(key=sha256, sha256=sha256, size_bytes=len(body))

    def load(self, place: BlobPlace) -> bytes:
        self.loads += 1
        return self.bodies[place.sha256]


def logged(events: Iterable[Event], first_seq: int = 1) -> Logged:
    events = tuple(events)
    last_seq = first_seq + len(events) - 1
    return Logged(first_seq, last_seq, "commit", 0, "test", 1, "created", events)


def nothing(first: int, last: int) -> tuple[Logged, ...]:
    raise AssertionError(f"fetched {first} to {last}")


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_every_large_body_leaves_its_event_and_comes_back(kind: str, field: str) -> None:
    bucket = Bucket()
    event = with_body(kind, field, "é" * INLINE_BODY_BYTES)

    value = spill(to_json(event), bucket.keep)
    (whole,) = materialise([logged([read_event(value)])], nothing, bucket.load)

    assert field not in value
    assert list(value["refs"]) == [field]
    assert len(bucket.bodies) == 1
    assert whole.events == (event,)


@pytest.mark.parametrize(
    ("size_bytes", "is_inline"),
    [(INLINE_BODY_BYTES - 1, True), (INLINE_BODY_BYTES, True), (INLINE_BODY_BYTES + 1, False)],
)
def test_a_body_leaves_above_its_limit(size_bytes: int, is_inline: bool) -> None:
    event = with_body("tool.call.completed", "result", "x" * (size_bytes - len('""')))

    value = spill(to_json(event), Bucket().keep)

    assert ("result" in value) is is_inline


def test_the_threshold_counts_bytes_not_characters() -> None:
    event = with_body("tool.call.completed", "result", "é" * (INLINE_BODY_BYTES // 2))

    assert "result" not in spill(to_json(event), Bucket().keep)


def test_an_event_without_bodies_is_left_alone() -> None:
    value = to_json(created("s1"))

    assert spill(value, Bucket().keep) is value


def test_a_body_that_looks_like_a_reference_is_a_body() -> None:
    imitation = {"refs": {"message": {"blob": {"key": "k", "sha256": "f0", "size_bytes": 1}}}}
    event = message("m").model_copy(update={"message": imitation})

    (whole,) = materialise([logged([event])], nothing, Bucket().load)

    assert whole.events == (event,)


def test_commits_without_references_need_nothing() -> None:
    commits = (logged([created("s1"), message("m")]),)

    assert materialise(commits, nothing, Bucket().load) == commits


def test_a_chain_through_other_commits_and_the_bucket_is_followed() -> None:
    bucket = Bucket()
    news = [{"content": "a" * 9_000}, {"content": "b"}]
    queued = with_body("decision.queued", "news", "").model_copy(update={"news": news})
    first = logged([created("s1"), read_event(spill(to_json(queued), bucket.keep))])
    second = logged([_empty("m1", 2, "news.0")], 3)
    third = logged([_empty("m2", 3, "message"), _empty("m3", 2, "news.1.content")], 100)
    fetched = []

    def fetch(low: int, high: int) -> tuple[Logged, ...]:
        fetched.append((low, high))
        return tuple(one for one in (first, second) if one.last_seq >= low)

    (whole,) = materialise([third], fetch, bucket.load)

    assert [_message(event) for event in whole.events] == [news[0], "b"]
    assert fetched == [(2, 3)]
    assert bucket.loads == 1


def test_a_part_of_a_spilled_message_is_filled_into_it() -> None:
    bucket = Bucket()
    text = message("m1")
    large = _empty("m2", 1, "message.content", "message.content").model_copy(
        update={"message": {"role": "user", "parts": "p" * 9_000}}
    )
    value = spill(to_json(large), bucket.keep)

    (whole,) = materialise([logged([text, read_event(value)])], nothing, bucket.load)

    assert list(value["refs"]) == ["message.content", "message"]
    assert _message(whole.events[1]) == {
        "role": "user",
        "parts": "p" * 9_000,
        "content": "Hello.",
    }


@pytest.mark.parametrize("ref", [same_as(1, "message"), same_as(2, "message"), Ref()])
def test_a_reference_that_does_not_lead_back_is_a_defect(ref: Ref) -> None:
    event = message("m").model_copy(update={"refs": {"message": ref}})

    with pytest.raises(StoreRefused):
        materialise([logged([event, event])], nothing, Bucket().load)


def test_a_reference_to_what_the_log_lacks_is_a_defect() -> None:
    with pytest.raises(StoreRefused):
        materialise([logged([_empty("m", 3, "message")], 9)], lambda *_: (), Bucket().load)


def _empty(name: str, seq: int, field: str, own: str = "message") -> Event:
    return message(name).model_copy(update={"message": None, "refs": {own: same_as(seq, field)}})


def _message(event: Event) -> Any:
    return event.model_dump()["message"]
