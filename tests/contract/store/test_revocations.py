"""What every `Revocations` does, the fake and the table alike."""

from __future__ import annotations

from typing import Any

import pytest

from contract.store.conftest import Aws
from contract.store.failing import Failing, never_arrives, refuses
from everturn.errors import StoreUnavailable
from everturn.ports.revocations import Revocations
from everturn.store.memory_revocations import InMemoryRevocations
from everturn.store.revocations import DynamoRevocations

UNTIL = 1_767_272_400


def on_table(aws: Aws, client: Any = None) -> DynamoRevocations:
    counting: Any = client or aws.dynamodb
    return DynamoRevocations(aws.table, counting, aws.time.pace())


@pytest.fixture(params=["memory", "dynamo"])
def revocations(request: pytest.FixtureRequest) -> Revocations:
    if request.param == "memory":
        return InMemoryRevocations()
    return on_table(request.getfixturevalue("aws"))


def test_what_was_revoked_is_so_and_nothing_else_is(revocations: Revocations) -> None:
    before = revocations.is_revoked("t1")

    revocations.revoke("t1", UNTIL)

    assert (before, revocations.is_revoked("t1"), revocations.is_revoked("t2")) == (
        False,
        True,
        False,
    )


def test_to_revoke_again_changes_nothing_but_the_end(revocations: Revocations) -> None:
    for until in (UNTIL, UNTIL + 60):
        revocations.revoke("t1", until)

    assert revocations.is_revoked("t1")


def test_the_table_forgets_it_by_itself_and_one_request_does_each(aws: Aws) -> None:
    revocations = on_table(aws)

    revocations.revoke("t1", UNTIL)
    revocations.is_revoked("t1")

    assert aws.dynamodb.taken() == ["put_item", "get_item"]
    assert aws.items() == [
        {
            "pk": {"S": "REVOKED#t1"},
            "sk": {"S": "META"},
            "format": {"N": "1"},
            "expires_epoch_s": {"N": str(UNTIL)},
        }
    ]


def test_a_throttled_table_is_asked_again_and_a_silent_one_is_said_to_be(aws: Aws) -> None:
    throttled = refuses("ThrottlingException")
    troubles = {"put_item": [throttled], "get_item": [throttled, throttled, never_arrives]}
    revocations = on_table(aws, Failing(aws.dynamodb, troubles))

    revocations.revoke("t1", UNTIL)

    with pytest.raises(StoreUnavailable):
        revocations.is_revoked("t1")
    assert revocations.is_revoked("t1")
