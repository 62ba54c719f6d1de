"""Watch items as they are stored: those without an end, as they always were, and those with one."""

from __future__ import annotations

from everturn.ports.streams import Watch, Watcher
from everturn.store.attributes import to_item
from everturn.store.watching import to_watch


def test_subscriptions_with_and_without_an_end_are_read() -> None:
    item = to_item(
        {
            "pk": "SESSION#acme#s1",
            "sk": "WATCH",
            "format": 1,
            "watcher#L0SM9cOFvHcCIhw=#live": "",
            "watcher#L0SM9cOFvHcCIhw=#turn": "t1",
            "watcher#c/2=#live": " 1767268860",
            "watcher#c/2=#turn": "t.1:@-_ 1767268860",
            "reader_until_ms": 7,
        }
    )

    watch = to_watch(item)

    assert watch == Watch(
        (
            Watcher("L0SM9cOFvHcCIhw=", "live"),
            Watcher("L0SM9cOFvHcCIhw=", "turn", "t1"),
            Watcher("c/2=", "live", "", 1_767_268_860),
            Watcher("c/2=", "turn", "t.1:@-_", 1_767_268_860),
        ),
        7,
    )
