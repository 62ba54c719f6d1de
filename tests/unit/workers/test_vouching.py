"""Who is let in: signatures as any framework may check them, and as a worker does."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest

from everturn.errors import TransientError
from everturn.protocol.signature import signed_headers
from everturn.rejections import Unauthenticated
from everturn.workers import Worker, verify
from everturn.workers.vouching import Secret, Vouching

BODY = b'{"trigger":{"type":"session.start"}}'
NOW = 1_800_000_000
HEADERS = signed_headers(b"whsec", BODY, NOW)


def vouched(secret: Secret | Iterable[Secret], **changes: Any) -> bool:
    headers = {**HEADERS, **changes.pop("headers", {})}
    return verify(secret, changes.pop("body", BODY), headers, **{"now_epoch_s": NOW, **changes})


@pytest.mark.parametrize(
    "secret", ["whsec", b"whsec", ["old", "whsec"], ("whsec", b"next"), iter([b"whsec", b""])]
)
def test_one_of_the_secrets_is_enough(secret: Any) -> None:
    assert vouched(secret)


def test_names_of_headers_are_taken_in_any_case() -> None:
    lower = {name.lower(): value for name, value in HEADERS.items()}
    upper = {name.upper(): value for name, value in HEADERS.items()}

    assert verify("whsec", BODY, lower, now_epoch_s=NOW)
    assert verify("whsec", BODY, upper, now_epoch_s=NOW)


@pytest.mark.parametrize("secret", ["other", "", b"", [], ["", b""], "whsec "])
def test_no_other_secret_and_no_empty_one_vouches(secret: Any) -> None:
    assert not vouched(secret)


def test_an_empty_secret_vouches_for_nothing_that_was_signed_with_it() -> None:
    assert not verify("", BODY, signed_headers(b"", BODY, NOW), now_epoch_s=NOW)


@pytest.mark.parametrize(
    "changes",
    [
        {"body": BODY + b" "},
        {"headers": {"X-Everturn-Timestamp": str(NOW + 1)}},
        {"headers": {"X-Everturn-Timestamp": ""}},
        {"headers": {"X-Everturn-Signature": ""}},
        {"headers": {"X-Everturn-Signature": HEADERS["X-Everturn-Signature"].upper()}},
        {"headers": {"X-Everturn-Signature": f"{HEADERS['X-Everturn-Signature']}, more"}},
        {"now_epoch_s": NOW + 301},
        {"now_epoch_s": NOW - 301},
        {"now_epoch_s": NOW + 11, "tolerance_s": 10},
    ],
)
def test_what_was_changed_or_kept_back_is_not_vouched_for(changes: dict[str, Any]) -> None:
    assert not vouched("whsec", **changes)


def test_without_headers_nothing_is_vouched_for() -> None:
    assert not verify("whsec", BODY, {}, now_epoch_s=NOW)


def test_the_clock_is_the_machines_where_none_is_given() -> None:
    assert verify("whsec", BODY, signed_headers(b"whsec", BODY, int(time.time())))
    assert not verify("whsec", BODY, signed_headers(b"whsec", BODY, int(time.time()) - 400))


def fresh(secret: bytes) -> dict[str, str]:
    return signed_headers(secret, BODY, int(time.time()))


def test_a_worker_without_a_secret_takes_every_request() -> None:
    vouching = Vouching(None, None)

    vouching.check(BODY, {})
    vouching.check(BODY, {**fresh(b"whatever"), "X-Everturn-Signature": "sha256=0"})


def test_a_worker_with_a_secret_takes_what_is_signed_with_it() -> None:
    vouching = Vouching("whsec", None)

    vouching.check(BODY, fresh(b"whsec"))

    for headers in ({}, fresh(b"other")):
        with pytest.raises(Unauthenticated, match="not signed with a secret of this worker"):
            vouching.check(BODY, headers)


def test_secrets_are_asked_for_at_each_request_so_that_they_can_be_rotated() -> None:
    accepted: list[Secret] = ["old"]
    vouching = Vouching(None, lambda: accepted)

    vouching.check(BODY, fresh(b"old"))
    accepted.insert(0, b"new")
    vouching.check(BODY, fresh(b"new"))
    vouching.check(BODY, fresh(b"old"))
    accepted.remove("old")

    with pytest.raises(Unauthenticated):
        vouching.check(BODY, fresh(b"old"))


@pytest.mark.parametrize("found", ["whsec", b"whsec"])
def test_a_single_secret_may_be_returned_bare(found: Any) -> None:
    Vouching(None, lambda: found).check(BODY, fresh(b"whsec"))


def test_no_secret_at_the_moment_lets_nobody_in() -> None:
    with pytest.raises(Unauthenticated):
        Vouching(None, list).check(BODY, fresh(b""))


def test_secrets_that_cannot_be_read_are_a_passing_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def unreadable() -> list[Secret]:
        raise OSError("no route")

    with pytest.raises(TransientError, match="the worker's secrets could not be read"):
        Vouching(None, unreadable).check(BODY, fresh(b"whsec"))

    assert [record.getMessage() for record in caplog.records] == [
        "the worker's secrets could not be read"
    ]


@pytest.mark.parametrize(
    "options", [{"secret": ""}, {"secret": b""}, {"secret": "a", "secrets": lambda: ["a"]}]
)
def test_a_secret_that_can_only_be_a_mistake_is_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="secret"):
        Worker(**options)
