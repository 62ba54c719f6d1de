"""What the table's store does when requests fail, get lost, or meet somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract.store.conftest import Aws
from contract.store.failing import (
    failing,
    first,
    loses_the_answer,
    never_arrives,
    refuses,
    then_loses_the_answer,
)
from everturn.errors import (
    NewerFormat,
    StoreRefused,
    StoreUnavailable,
    VersionConflict,
)
from everturn.ports.sessions import NodePlace, Owner, SessionKey
from everturn.ports.streams import Delta
from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.messages import StateUpdated
from everturn.session.events.shape import Anchor
from everturn.session.events.stored import Event
from everturn.session.formats import NEWEST_FORMAT
from sample_events import commit, created, id_of, message, tool_call

CONFLICT = ("TransactionCanceledException", "None", "TransactionConflict")


def test_a_commit_whose_answer_was_lost_is_found(aws: Aws, key: SessionKey) -> None:
    store, client = failing(aws, transact_write_items=[loses_the_answer])

    head = store.append(commit(key, None, [created(key.session)]))

    assert aws.store().head(key) == head
    assert [name for name, _ in client.requests] == ["transact_write_items", "get_item"]


def test_a_commit_that_others_followed_is_found(aws: Aws, key: SessionKey) -> None:
    other = aws.store()
    before = other.append(commit(key, None, [created(key.session)]))

    def follow() -> None:
        other.append(commit(key, other.head(key), [message("later")], "other"))

    store, client = failing(aws, transact_write_items=[then_loses_the_answer(follow)])

    head = store.append(commit(key, before, [message("mine")]))

    assert (head.version, head.session.seq) == (2, 2)
    assert [one.last_seq for one in other.log(key, 1)] == [1, 2, 3]
    names = [name for name, _ in client.requests]
    assert names == ["transact_write_items", "get_item", "get_item"]


def test_a_commit_that_never_arrived_is_sent_again(aws: Aws, key: SessionKey) -> None:
    store, client = failing(aws, transact_write_items=[never_arrives, never_arrives])

    head = store.append(commit(key, None, [created(key.session)]))

    sent = [request for name, request in client.requests if name == "transact_write_items"]
    assert aws.store().head(key) == head
    assert sent == [sent[0]] * 3
    assert sent[0]["ClientRequestToken"] == head.commit_id
    assert aws.time.slept_s == pytest.approx([0.03, 0.03])


def test_a_lost_request_and_a_lost_race_is_a_conflict(aws: Aws, key: SessionKey) -> None:
    other = aws.store()
    before = other.append(commit(key, None, [created(key.session)]))
    store, client = failing(aws, transact_write_items=[never_arrives])
    client.troubles["get_item"] = [
        first(lambda: other.append(commit(key, before, [message("m")], "other")))
    ]

    with pytest.raises(VersionConflict) as caught:
        store.append(commit(key, before, [message("n")]))

    assert caught.value.head == other.head(key)


def test_a_transaction_conflict_is_tried_again(aws: Aws, key: SessionKey) -> None:
    store, client = failing(
        aws,
        transact_write_items=[
            refuses(*CONFLICT),
            refuses("TransactionInProgressException"),
            refuses("TransactionCanceledException", "ThrottlingError"),
        ],
    )

    store.append(commit(key, None, [created(key.session)]))

    assert [name for name, _ in client.requests] == ["transact_write_items"] * 4
    assert aws.time.slept_s == pytest.approx([0.03] * 3)


@pytest.mark.parametrize(
    "trouble", [refuses(*CONFLICT), never_arrives, refuses("InternalServerError", status=500)]
)
def test_after_three_seconds_nothing_is_written_and_it_says_so(
    aws: Aws, key: SessionKey, trouble: Any
) -> None:
    store, client = failing(aws, transact_write_items=[trouble] * 1_000)

    with pytest.raises(StoreUnavailable) as caught:
        store.append(commit(key, None, [created(key.session)]))

    assert caught.value.retry_after_s == 1.0
    assert client.requests[-1][0] == "get_item"
    assert 3.0 <= aws.time.now_s < 3.1
    assert aws.items() == []


def test_the_last_look_may_find_the_commit_after_all(aws: Aws, key: SessionKey) -> None:
    written = commit(key, None, [created(key.session)])
    store, client = failing(aws, transact_write_items=[refuses(*CONFLICT)] * 1_000)
    client.troubles["get_item"] = [first(lambda: aws.store().append(written))]

    head = store.append(written)

    assert head == aws.store().head(key)


def test_a_table_that_does_not_answer_at_all_is_unavailable(aws: Aws, key: SessionKey) -> None:
    store, _ = failing(
        aws, transact_write_items=[never_arrives] * 1_000, get_item=[never_arrives] * 1_000
    )

    with pytest.raises(StoreUnavailable):
        store.append(commit(key, None, [created(key.session)]))
    with pytest.raises(StoreUnavailable):
        store.head(key)


@pytest.mark.parametrize("code", ["ValidationException", "AccessDeniedException"])
def test_a_wrong_request_is_a_defect_at_once(aws: Aws, key: SessionKey, code: str) -> None:
    store, client = failing(aws, transact_write_items=[refuses(code)], query=[refuses(code)])

    with pytest.raises(StoreRefused):
        store.append(commit(key, None, [created(key.session)]))
    with pytest.raises(StoreRefused):
        store.log(key, 1)

    assert len(client.requests) == 2


def test_a_throttled_read_asks_for_a_wait(aws: Aws, key: SessionKey) -> None:
    throttled = refuses("ProvisionedThroughputExceededException")
    store, _ = failing(aws, get_item=[throttled] * 1_000)

    with pytest.raises(StoreUnavailable) as caught:
        store.watch(key)

    assert caught.value.retry_after_s == 1.0


def test_a_transaction_in_the_way_is_waited_for(aws: Aws, key: SessionKey) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    store, client = failing(
        aws,
        transact_get_items=[refuses(*CONFLICT)],
        update_item=[refuses("TransactionConflictException")] * 2,
    )

    found = store.head_and_turn(key, "t")
    claimed = store.claim(key, head, Owner(1, "r"))

    assert (found, claimed.version) == ((head, None), 2)
    assert [name for name, _ in client.requests] == [
        *["transact_get_items"] * 2,
        *["update_item"] * 3,
    ]
    client.troubles["transact_get_items"] = [refuses(*CONFLICT)] * 1_000
    with pytest.raises(StoreUnavailable):
        store.head_and_turn(key, "t")


def test_keys_left_unread_are_asked_for_again(aws: Aws, key: SessionKey) -> None:
    aws.store().append(commit(key, None, [created(key.session), message("m")]))

    def read_nothing(request: Any) -> Any:
        del request
        return {"Responses": {}, "UnprocessedKeys": client.requests[-1][1]["RequestItems"]}

    store, client = failing(aws, batch_get_item=[read_nothing, read_nothing])

    assert store.nodes(key, [id_of("m")]) == {id_of("m"): NodePlace(id_of("m"), 2, 0, 1)}
    client.troubles["batch_get_item"] = [read_nothing] * 1_000
    with pytest.raises(StoreUnavailable):
        store.nodes(key, [id_of("m")])


def test_a_claim_whose_answer_was_lost_is_found(aws: Aws, key: SessionKey) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    store, _ = failing(aws, update_item=[loses_the_answer])

    claimed = store.claim(key, head, Owner(1, "r"))

    assert claimed == aws.store().head(key)
    assert claimed.version == 2


@pytest.mark.parametrize("trouble", [never_arrives, refuses("ThrottlingException")])
def test_a_claim_that_did_not_happen_says_so(aws: Aws, key: SessionKey, trouble: Any) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    store, _ = failing(aws, update_item=[trouble] * 1_000)

    with pytest.raises(StoreUnavailable):
        store.claim(key, head, Owner(1, "r"))

    assert aws.store().head(key) == head


def test_a_claim_that_is_known_to_be_ours_but_not_new_is_a_conflict(
    aws: Aws, key: SessionKey
) -> None:
    owner = Owner(1, "r")
    old = aws.store().append(commit(key, None, [created(key.session)], owner=owner))
    now = aws.store().append(commit(key, old, [message("m")], owner=owner))

    with pytest.raises(VersionConflict) as caught:
        aws.store().claim(key, old, owner)

    assert caught.value.head == now


@pytest.mark.parametrize("sk", ["HEAD", "LOG#000000000002", "WATCH", "TURN#t", "ID#node#n"])
def test_a_newer_format_is_not_touched(aws: Aws, key: SessionKey, sk: str) -> None:
    store = aws.store()
    old = store.append(commit(key, None, [created(key.session)]))
    head = store.append(commit(key, old, [message("m")]))
    aws.dynamodb.client.update_item(
        TableName=aws.table,
        Key={"pk": {"S": f"SESSION#{key.tenant}#{key.session}"}, "sk": {"S": sk}},
        UpdateExpression="SET #format = :newer",
        ExpressionAttributeNames={"#format": "format"},
        ExpressionAttributeValues={":newer": {"N": str(NEWEST_FORMAT + 1)}},
    )
    before = aws.items()

    reads: dict[str, Callable[[], object]] = {
        "HEAD": lambda: store.append(commit(key, old, [message("x")], "late")),
        "LOG#000000000002": lambda: store.log(key, 1),
        "WATCH": lambda: store.head_and_watch(key),
        "TURN#t": lambda: store.head_and_turn(key, "t"),
        "ID#node#n": lambda: store.nodes(key, ["n"]),
    }
    with pytest.raises(NewerFormat):
        reads[sk]()

    assert aws.items() == before
    assert head.version == 2


def test_a_log_item_without_its_head_is_a_defect(aws: Aws, key: SessionKey) -> None:
    aws.dynamodb.client.put_item(
        TableName=aws.table,
        Item={
            "pk": {"S": f"SESSION#{key.tenant}#{key.session}"},
            "sk": {"S": "LOG#000000000001"},
        },
    )

    with pytest.raises(StoreRefused):
        aws.store().append(commit(key, None, [created(key.session)]))


def test_a_bucket_that_does_not_answer_leaves_the_table_alone(aws: Aws, key: SessionKey) -> None:
    class Silent:
        def put_object(self, **request: Any) -> Any:
            return never_arrives(lambda: request)

    aws.s3.client = Silent()

    with pytest.raises(StoreUnavailable):
        aws.store().append(
            commit(key, None, [created(key.session), message("m", content="x" * 9_000)])
        )

    assert aws.items() == []


def test_an_object_that_was_tampered_with_is_a_defect(aws: Aws, key: SessionKey) -> None:
    aws.store().append(commit(key, None, [created(key.session), message("m", content="x" * 9_000)]))
    (listed,) = aws.s3.client.list_objects_v2(
        Bucket="bodies", Prefix=f"{key.tenant}/{key.session}/"
    )["Contents"][-1:]
    aws.s3.client.put_object(Bucket="bodies", Key=listed["Key"], Body=b"{}")
    store = aws.store()

    with pytest.raises(StoreRefused):
        store.materialise(key, store.log(key, 1))


def test_a_commit_that_is_found_though_only_its_log_item_was_in_the_way(
    aws: Aws, key: SessionKey
) -> None:
    written = commit(key, None, [created(key.session)])
    answer = refuses("TransactionCanceledException", "None", "ConditionalCheckFailed")
    store, client = failing(aws, transact_write_items=[loses_the_answer, answer])
    client.troubles["get_item"] = [never_arrives]

    assert store.append(written) == aws.store().head(key)


def test_a_commit_of_too_many_versions_is_a_defect(aws: Aws, key: SessionKey) -> None:
    places = [StateUpdated(state=n, anchor=Anchor(branch=0, depth=n)) for n in range(99)]

    with pytest.raises(StoreRefused):
        aws.store().append(commit(key, None, [created(key.session), *places]))

    assert aws.items() == []


def in_sections(key: SessionKey) -> list[Event]:
    """Return the events of a session whose head has two sections."""
    return [
        created(key.session),
        *(tool_call(f"c{n}") for n in range(256)),
        *(DecisionQueued(id=id_of(f"d{n}"), trigger_type="tool.finished") for n in range(256)),
    ]


def test_a_head_whose_sections_changed_meanwhile_is_read_again(aws: Aws, key: SessionKey) -> None:
    before = aws.store().append(commit(key, None, in_sections(key)))
    store, client = failing(aws)
    client.troubles["query"] = [
        first(lambda: aws.store().append(commit(key, before, [message("m")])))
    ]

    head = store.head(key)

    assert head == aws.store().head(key)
    assert [name for name, _ in client.requests] == ["get_item", "query"] * 2


def test_answers_in_pages_are_read_to_their_end(aws: Aws, key: SessionKey) -> None:
    head = aws.store().append(commit(key, None, in_sections(key)))
    for n in range(4):
        head = aws.store().append(commit(key, head, [message(f"m{n}")]))
        aws.store().put_delta(key, Delta(13, n + 1, "call", 1, "turn", {}), 1)
    store, client = failing(aws)
    client.page_items = 1

    assert store.head(key) == head
    assert [one.last_seq for one in store.log(key, 1)] == [513, 514, 515, 516, 517]
    assert [one.last_seq for one in store.page(key, 513, 3)] == [514, 515, 516]
    assert [one.n for one in store.deltas(key, 13, 0, 3)] == [1, 2, 3]


def test_a_failed_update_of_the_watch_item_is_told(aws: Aws, key: SessionKey) -> None:
    store, _ = failing(aws, update_item=[refuses("ThrottlingException")] * 1_000)

    with pytest.raises(StoreUnavailable):
        store.reader_until(key, 5)
