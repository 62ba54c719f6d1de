"""Limits of AWS that the store meets by design, at their edges. Source: architecture, section 5."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from everturn.ports.sessions import SessionKey
from everturn.protocol.ids import is_id
from everturn.protocol.json_text import compact
from everturn.protocol.limits import (
    DYNAMODB_ITEM_BYTES,
    DYNAMODB_TRANSACTION_ITEMS,
    MAX_ID_CHARS,
    SQS_MESSAGE_BYTES,
    STEP_FUNCTIONS_PAYLOAD_BYTES,
)
from everturn.session.events.stored import Event
from everturn.session.refs import BlobPlace
from everturn.store import keys
from everturn.store.attributes import Item, size_bytes, to_item
from everturn.store.blobs import place_of
from everturn.store.bodies import INLINE_BODY_BYTES
from everturn.store.codec import LOG_ITEM_BYTES, SECTION_BYTES
from everturn.store.plan import Plan, plan_of
from everturn.store.surplus import ROOM_BYTES, split
from everturn.store.wake import dedup_id, message_of, timer_name
from sample_events import commit, created, tool_call

KEY = SessionKey("acme", "s1")
CALLS = 76
"""Of the largest inline arguments, just below what one log item takes."""


class Bucket:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def put(self, key: str, body: bytes) -> BlobPlace:
        self.sizes.append(len(body))
        return place_of(key, body)

    def get(self, place: BlobPlace) -> bytes:
        raise AssertionError(place)


def noise(name: str, chars: int) -> str:
    """Return text that compresses to half, the same for a name."""
    lines = range(chars // 64 + 1)
    return "".join(hashlib.sha256(f"{name} {n}".encode()).hexdigest() for n in lines)[:chars]


def log_item(last_chars: int) -> tuple[Item, Bucket]:
    """Return the log item of a commit whose last body has that many characters."""
    bucket = Bucket()
    whole = [tool_call(f"c{n}", noise(f"c{n}", INLINE_BODY_BYTES - 2)) for n in range(CALLS - 1)]
    events: list[Event] = [
        created(KEY.session),
        *whole,
        tool_call("last", noise("last", last_chars)),
    ]
    plan = plan_of("table", commit(KEY, None, events), bucket)
    item: Item = plan.actions[keys.log_sk(len(events))]["Put"]["Item"]
    return item, bucket


def test_a_commit_leaves_for_the_bucket_one_step_above_350_kb() -> None:
    inline, spilled = 0, INLINE_BODY_BYTES - 2
    assert "blob" in log_item(spilled)[0]
    while spilled - inline > 1:
        middle = (inline + spilled) // 2
        if "blob" in log_item(middle)[0]:
            spilled = middle
        else:
            inline = middle

    at, kept = log_item(inline)
    above, left = log_item(spilled)

    assert LOG_ITEM_BYTES - 16 < size_bytes(at) <= LOG_ITEM_BYTES < DYNAMODB_ITEM_BYTES
    assert (kept.sizes, len(left.sizes)) == ([], 1)
    assert size_bytes(above) < 1_000


def test_a_section_of_the_head_is_an_item_that_the_table_takes() -> None:
    assert SECTION_BYTES + 1_000 < DYNAMODB_ITEM_BYTES


def sized(sk: str, wanted_bytes: int) -> Item:
    """Return an item of exactly that size."""
    own = {"pk": "p", "sk": sk, "pad": ""}
    return to_item({**own, "pad": "x" * (wanted_bytes - size_bytes(to_item(own)))})


def planned(log_bytes: int, ids: int) -> Plan:
    """Return a plan of a log item of that size and of that many ids of 100 bytes each."""
    real = plan_of("table", commit(KEY, None, [created(KEY.session)]), Bucket())
    items = {f"ID#node#{n:03d}": sized(f"ID#node#{n:03d}", 100) for n in range(ids)}
    actions: dict[str, Any] = {"LOG": {"Put": {"Item": sized("LOG", log_bytes)}}}
    return Plan(real.commit, real.after, actions, items)


@pytest.mark.parametrize(
    ("over_bytes", "inside"),
    [(-1, 5), (0, 5), (1, 4)],
    ids=["one below", "at the limit", "one above"],
)
def test_ids_leave_a_transaction_that_would_be_too_heavy(over_bytes: int, inside: int) -> None:
    plan = planned(ROOM_BYTES - 500 + over_bytes, 5)

    divided = split(plan)

    assert (len(divided.inside), len(divided.surplus)) == (inside, 5 - inside)


@pytest.mark.parametrize(
    ("ids", "inside"),
    [
        (DYNAMODB_TRANSACTION_ITEMS - 2, DYNAMODB_TRANSACTION_ITEMS - 2),
        (DYNAMODB_TRANSACTION_ITEMS - 1, DYNAMODB_TRANSACTION_ITEMS - 1),
        (DYNAMODB_TRANSACTION_ITEMS, DYNAMODB_TRANSACTION_ITEMS - 2),  # one is the check
    ],
    ids=["one below", "at the limit", "one above"],
)
def test_ids_leave_a_transaction_that_would_have_too_many_items(ids: int, inside: int) -> None:
    divided = split(planned(1_000, ids))

    assert (len(divided.inside), len(divided.surplus)) == (inside, ids - inside)


def test_a_wake_up_of_the_longest_names_is_far_below_what_queue_and_machine_take() -> None:
    longest = "x" * MAX_ID_CHARS
    key = SessionKey(longest, longest)
    due = keys.iso_ms(1_767_268_800_000)

    message = message_of(key, "decision", 10**12, due=due, subject=longest)
    name = timer_name(key, longest, longest, due)
    whole = {"kind": "wait", "until": due, "message": message, "group": keys.group_id(key)}
    asked = compact({**whole, "dedup": dedup_id("0198f000-0000-7000-8000-00000000c0de", name)})

    assert is_id(longest)
    assert len(compact(message).encode()) < SQS_MESSAGE_BYTES // 100
    assert len(asked.encode()) < STEP_FUNCTIONS_PAYLOAD_BYTES // 100
