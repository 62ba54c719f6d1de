"""A write in several requests of which some failed: what is left over harms nobody, ever."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from botocore.exceptions import ClientError

from contract.store.conftest import BUCKET, Aws
from contract.store.failing import failing, loses_the_answer, never_arrives, refuses
from everturn.errors import StoreRefused, StoreUnavailable, VersionConflict
from everturn.ports.sessions import SessionKey
from sample_events import commit, created, id_of, message

LARGE = "x" * 9_000
"""Goes to the bucket by itself."""

CONFLICT = ("TransactionCanceledException", "None", "TransactionConflict")
TROUBLES = [
    refuses(*CONFLICT),
    refuses("ThrottlingException"),
    refuses("InternalServerError", status=500),
    never_arrives,
]


def objects(aws: Aws, key: SessionKey) -> list[str]:
    listed = aws.s3.client.list_objects_v2(Bucket=BUCKET, Prefix=f"{key.tenant}/{key.session}/")
    return [one["Key"] for one in listed.get("Contents", [])]


@pytest.fixture
def key(request: pytest.FixtureRequest) -> SessionKey:
    return SessionKey("acme", id_of(request.node.name))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_object_whose_commit_failed_is_an_orphan_that_nobody_meets(
    aws: Aws, key: SessionKey, trouble: Any
) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    before = aws.items()
    store, _ = failing(aws, transact_write_items=[trouble] * 1_000)

    with pytest.raises(StoreUnavailable):
        store.append(commit(key, head, [message("m", content=LARGE)]))

    assert len(objects(aws, key)) == 1
    assert aws.items() == before
    assert aws.store().head(key) == head
    other = aws.store().append(commit(key, head, [message("n")], "other"))
    assert [one.last_seq for one in aws.store().log(key, 1)] == [1, 2]
    assert other.version == 2


def test_a_commit_that_is_sent_again_uses_the_object_that_is_there(
    aws: Aws, key: SessionKey
) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    store, client = failing(aws, transact_write_items=[refuses(*CONFLICT)] * 1_000)
    wanted = commit(key, head, [message("m", content=LARGE)])
    with pytest.raises(StoreUnavailable):
        store.append(wanted)
    client.troubles.clear()
    aws.s3.taken()

    again = store.append(wanted)
    puts = aws.s3.taken()
    elsewhere = aws.store()
    read = elsewhere.materialise(key, elsewhere.log(key, 2))

    assert (again.version, puts, len(objects(aws, key))) == (2, [], 1)
    assert read[0].events[0].message["content"] == LARGE  # type: ignore[union-attr]  # it is one


def test_a_commit_as_a_whole_in_the_bucket_whose_transaction_failed_is_an_orphan_too(
    aws: Aws, key: SessionKey
) -> None:
    many = [message(f"m{n}", n + 1, noise(n)) for n in range(80)]
    store, client = failing(aws, transact_write_items=[never_arrives] * 1_000)

    with pytest.raises(StoreUnavailable):
        store.append(commit(key, None, [created(key.session), *many]))
    client.troubles.clear()

    assert (aws.items(), len(objects(aws, key))) == ([], 1)
    assert store.append(commit(key, None, [created(key.session), *many])).session.seq == 81
    assert len(objects(aws, key)) == 1


def noise(seed: int) -> str:
    """Return 7.5 KB that hardly compress: too little to leave its event, much together."""
    return "".join(b64encode(sha256(f"{seed} {n}".encode()).digest()).decode() for n in range(170))


class Second:
    """A bucket that takes the first object and no other."""

    def __init__(self, client: Any, fail: Callable[[], Any]) -> None:
        self._client = client
        self._fail = fail
        self.taken = 0

    def put_object(self, **request: Any) -> Any:
        self.taken += 1
        return self._client.put_object(**request) if self.taken == 1 else self._fail()


def refused() -> Any:
    answer: Any = {"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
    raise ClientError(answer, "PutObject")


@pytest.mark.parametrize(
    ("fail", "ours"),
    [(lambda: never_arrives(lambda: None), StoreUnavailable), (refused, StoreRefused)],
)
def test_of_two_objects_the_second_of_which_failed_nothing_is_recorded(
    aws: Aws, key: SessionKey, fail: Callable[[], Any], ours: type[Exception]
) -> None:
    real = aws.s3.client
    aws.s3.client = Second(real, fail)

    with pytest.raises(ours):
        aws.store().append(
            commit(
                key,
                None,
                [created(key.session), message("m", content=LARGE), message("n", 2, LARGE + "y")],
            )
        )

    aws.s3.client = real
    assert (aws.items(), len(objects(aws, key))) == ([], 1)


def test_a_lost_race_leaves_the_losers_object_and_the_winners_commit(
    aws: Aws, key: SessionKey
) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    winner = aws.store().append(commit(key, head, [message("w", content=LARGE)], "winner"))

    with pytest.raises(VersionConflict):
        aws.store().append(commit(key, head, [message("l", content=LARGE + "!")], "loser"))

    store = aws.store()
    (read,) = store.materialise(key, store.log(key, 2))
    assert len(objects(aws, key)) == 2
    assert (store.head(key), read.commit_id) == (winner, winner.commit_id)


# ---- ids that were written before their commit


def surplus(count: int = 150) -> list[Any]:
    return [message(f"m{n}", n + 1) for n in range(count)]


@pytest.mark.parametrize("done", [0, 1])
def test_what_a_writer_of_surplus_left_behind_hinders_nobody(
    aws: Aws, key: SessionKey, done: int
) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    passes: list[Any] = [lambda request: request()] * done
    lost, _ = failing(aws, transact_write_items=[*passes, *[never_arrives] * 1_000])
    with pytest.raises(StoreUnavailable):
        lost.append(commit(key, head, surplus(), "lost"))
    left = {item["sk"]["S"] for item in aws.items()} - {"HEAD", "LOG#000000000001"}

    plain = aws.store().append(commit(key, head, [message("m0")], "plain"))
    many = aws.store().append(commit(key, plain, surplus()[1:], "many"))

    assert "PREPARED" in left
    assert len(left) == 1 + 53 * done
    assert (plain.version, many.version) == (2, 3)
    places = aws.store().nodes(key, [one.id for one in surplus()])
    assert {place.seq for place in places.values()} == set(range(2, 152))


def test_surplus_whose_commit_landed_though_nobody_was_told_counts(
    aws: Aws, key: SessionKey
) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    store, client = failing(aws, transact_write_items=[lambda request: request(), loses_the_answer])

    after = store.append(commit(key, head, surplus()))

    assert after == aws.store().head(key)
    assert len(aws.store().nodes(key, [one.id for one in surplus()])) == 150
    assert [name for name, _ in client.requests if name == "put_item"] == ["put_item"]


def test_announcing_surplus_that_is_throttled_writes_nothing(aws: Aws, key: SessionKey) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    before = aws.items()
    store, _ = failing(aws, put_item=[refuses("ThrottlingException")] * 1_000)

    with pytest.raises(StoreUnavailable):
        store.append(commit(key, head, surplus()))

    assert aws.items() == before
    assert 3.0 <= aws.time.now_s < 3.5
