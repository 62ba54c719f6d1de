"""Heads and commits become items and come back."""

from __future__ import annotations

import dataclasses
import hashlib
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.errors import IdsTaken, NewerFormat
from everturn.ports.sessions import Head, NewCommit, Owner, SessionKey
from everturn.session.events.stored import Event, from_json, to_json
from everturn.session.evolve import fold
from everturn.session.formats import NEWEST_FORMAT
from everturn.session.refs import BlobPlace
from everturn.session.state import Decision, Mark, Session, Window
from everturn.store.attributes import size_bytes, to_item
from everturn.store.codec import (
    HEAD_BYTES,
    HeadItems,
    from_head_items,
    from_log_item,
    opened,
    to_head_items,
)
from everturn.store.plan import plan_of
from everturn.store.stream import announced, commit_of
from examples import per_cent
from sample_events import created, id_of, tool_call
from unit.store.samples_of_sessions import COUNT, EVENTS, ID, SESSIONS

KEY = SessionKey("acme", "s1")
HEADS = st.builds(
    Head,
    version=COUNT,
    commit_id=ID,
    created=ID,
    session=SESSIONS,
    owner=st.none() | st.builds(Owner, epoch=COUNT, request_id=ID),
)


class DictBlobs:
    """Objects in a dictionary."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put(self, key: str, body: bytes) -> BlobPlace:
        self.objects[key] = body
        sha256 = hashlib.sha256(body).hexdigest()
        return BlobPlace(key=key, sha256=sha256, size_bytes=len(body))

    def get(self, place: BlobPlace) -> bytes:
        return self.objects[place.key]


def values_of(items: HeadItems) -> dict[str, Any]:
    return opened(to_item({**items.attributes, "pk": "p", "sk": "HEAD"}))


def sections_of(items: HeadItems) -> set[str]:
    return set(items.attributes["sections"] or {}) - {"version"}


@settings(max_examples=per_cent(60), deadline=None)
@given(head=HEADS)
def test_a_head_comes_back_from_its_items(head: Head) -> None:
    items = to_head_items(KEY, head)

    assert from_head_items(values_of(items), items.sections) == head


def with_calls(count: int) -> Head:
    events: list[Event] = [created("s1"), *(tool_call(f"c{n}") for n in range(count))]
    return Head(7, id_of("commit"), id_of("created"), fold(events), Owner(1, id_of("request")))


def test_sections_leave_only_a_head_that_is_too_large() -> None:
    moved = {count: sections_of(to_head_items(KEY, with_calls(count))) for count in (0, 40, 256)}

    assert moved == {0: set(), 40: set(), 256: {"calls"}}


def test_the_head_stays_within_its_limit_at_every_number_of_calls() -> None:
    for count in range(60, 160, 3):
        head = with_calls(count)
        items = to_head_items(KEY, head)
        assert size_bytes(to_item(items.attributes)) <= HEAD_BYTES
        assert from_head_items(values_of(items), items.sections) == head


def test_all_sections_leave_if_they_have_to() -> None:
    marks = tuple(Mark(n * 7_919**3, n * 104_729**3) for n in range(2_000))
    decisions = tuple(Decision(id_of(f"d{n}"), "tool.finished", n) for n in range(400))
    head = with_calls(256)
    session = dataclasses.replace(head.session, decisions=decisions, window=Window(marks=marks))
    large = dataclasses.replace(head, session=session)

    items = to_head_items(KEY, large)

    assert sections_of(items) == {"calls", "decisions", "marks"}
    assert from_head_items(values_of(items), items.sections) == large


def test_a_large_section_is_cut_into_pieces() -> None:
    head = with_calls(3_000)

    items = to_head_items(KEY, head)

    names = [item["sk"]["S"] for item in items.sections]
    assert names == ["HEAD#calls#0", "HEAD#calls#1"]
    assert max(size_bytes(item) for item in items.sections) <= 64 * 1_024
    assert from_head_items(values_of(items), reversed(items.sections)) == head


def test_sections_of_another_version_are_not_taken() -> None:
    items = to_head_items(KEY, with_calls(256))
    later = to_head_items(KEY, dataclasses.replace(with_calls(256), version=8))

    assert from_head_items(values_of(items), later.sections) is None
    assert from_head_items(values_of(items), ()) is None


def test_a_newer_item_is_not_read() -> None:
    items = to_head_items(KEY, with_calls(0))

    with pytest.raises(NewerFormat):
        opened(to_item({**items.attributes, "format": NEWEST_FORMAT + 1}))


def test_next_years_fields_are_skipped() -> None:
    items = to_head_items(KEY, with_calls(1))
    state = items.attributes["state"].replace('"turns"', '"novel":1,"turns"')

    head = from_head_items({**values_of(items), "state": state, "novel": 1})

    assert head == with_calls(1)


@settings(max_examples=per_cent(60), deadline=None)
@given(events=st.lists(EVENTS, min_size=1, max_size=8))
def test_a_commit_comes_back_from_its_item(events: list[Event]) -> None:
    stored = [from_json(to_json(event)) for event in events]
    session = Session(seq=len(events))
    commit = NewCommit(KEY, None, session, tuple(events), "commit", 5, "test", "llm", created="c")
    blobs = DictBlobs()

    try:
        item = plan_of("table", commit, blobs).actions[f"LOG#{len(events):012d}"]["Put"]["Item"]
    except IdsTaken:
        return

    logged = from_log_item(item, blobs.get)
    assert list(logged.events) == stored
    assert (logged.first_seq, logged.last_seq, logged.wake) == (1, len(events), "llm")


def test_a_record_of_the_stream_is_a_commit() -> None:
    events: list[Event] = [created("s1"), *(tool_call(f"c{n}") for n in range(9))]
    commit = NewCommit(KEY, None, fold(events), tuple(events), "commit", 5, "test", created="c")
    item = plan_of("table", commit, DictBlobs()).actions["LOG#000000000010"]["Put"]["Item"]
    packed = b64encode(item["events"]["B"]).decode()

    said = announced({"dynamodb": {"NewImage": {**item, "events": {"B": packed}}}})
    logged = commit_of(said, DictBlobs().get)

    assert (said.key, said.by, said.version, said.created) == (KEY, "test", 1, "c")
    assert list(logged.events) == events
