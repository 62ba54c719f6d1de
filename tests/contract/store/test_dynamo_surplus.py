"""Ids that a transaction has no room for, through crashes and races."""

from __future__ import annotations

from typing import Any

import pytest

from contract.store.conftest import Aws
from contract.store.failing import (
    failing,
    first,
    refuses,
)
from everturn.errors import (
    IdsTaken,
    StoreRefused,
    VersionConflict,
)
from everturn.ports.sessions import NodePlace, SessionKey
from sample_events import commit, created, id_of, message


def surplus_messages(count: int = 150) -> list[Any]:
    return [message(f"m{n}", n + 1) for n in range(count)]


def test_surplus_of_a_commit_that_never_landed_is_void(aws: Aws, key: SessionKey) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    lost, client = failing(aws, transact_write_items=[lambda request: request()])
    client.troubles["transact_write_items"].append(refuses("AccessDeniedException"))
    with pytest.raises(StoreRefused):
        lost.append(commit(key, head, surplus_messages(), "lost"))
    left = [item for item in aws.items() if "log_seq" in item]

    found = aws.store().nodes(key, [one.id for one in surplus_messages()])
    small = aws.store().append(commit(key, head, [message("m149"), message("m148")]))
    aws.store().append(commit(key, small, surplus_messages(147)))

    assert len(left) == 53
    assert found == {}
    places = aws.store().nodes(key, [one.id for one in surplus_messages()])
    assert len(places) == 149
    assert places[id_of("m149")] == NodePlace(id_of("m149"), 2, 0, 1)


def test_surplus_left_behind_is_overwritten_by_the_next_surplus(aws: Aws, key: SessionKey) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    lost, client = failing(aws, transact_write_items=[lambda request: request()])
    client.troubles["transact_write_items"].append(refuses("AccessDeniedException"))
    with pytest.raises(StoreRefused):
        lost.append(commit(key, head, surplus_messages(), "lost"))

    after = aws.store().append(commit(key, head, surplus_messages(), "again"))

    assert after == aws.store().head(key)
    assert len(aws.store().nodes(key, [one.id for one in surplus_messages()])) == 150
    with pytest.raises(IdsTaken):
        aws.store().append(commit(key, after, surplus_messages(), "third"))


def test_two_writers_of_the_same_surplus_leave_one_commit_and_all_its_ids(
    aws: Aws, key: SessionKey
) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    mine, yours = (commit(key, head, surplus_messages(), name) for name in ("mine", "yours"))
    other, theirs = failing(aws, transact_write_items=[lambda request: request()])
    theirs.troubles["transact_write_items"].append(refuses("AccessDeniedException"))

    def others_write_their_surplus() -> None:
        with pytest.raises(StoreRefused):
            other.append(yours)

    store, client = failing(aws, transact_write_items=[lambda request: request()])
    client.troubles["transact_write_items"].append(first(others_write_their_surplus))

    after = store.append(mine)

    assert after.commit_id == mine.commit_id
    assert len(aws.store().nodes(key, [one.id for one in surplus_messages()])) == 150
    with pytest.raises(VersionConflict):
        aws.store().append(yours)
    assert len(aws.store().nodes(key, [one.id for one in surplus_messages()])) == 150


def test_surplus_is_written_once_though_its_commit_is_tried_again(
    aws: Aws, key: SessionKey
) -> None:
    store, client = failing(aws, transact_write_items=[lambda request: request()])
    client.troubles["transact_write_items"].append(
        refuses("TransactionCanceledException", "TransactionConflict")
    )

    store.append(commit(key, None, [created(key.session), *surplus_messages()]))

    names = [name for name, _ in client.requests]
    assert names == ["put_item", *["transact_write_items"] * 3]
