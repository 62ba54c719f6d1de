"""What cannot be read is met by functions: the shard goes on, the session is put aside, once."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from integration.deployed import SESSION, TENANT, TURN, Deployed, queued, sample
from integration.test_functions import KEY, invoke, stack

__all__ = ["stack"]  # the fixture
pytestmark = pytest.mark.filterwarnings("ignore:No application metrics")

OTHER = SESSION.replace("0001", "0009")


def metrics_in(text: str) -> dict[str, list[float]]:
    """Return the metrics that a function printed."""
    found: dict[str, list[float]] = {}
    for line in text.splitlines():
        if line.startswith('{"_aws"'):
            said = json.loads(line)
            for one in said["_aws"]["CloudWatchMetrics"][0]["Metrics"]:
                found[one["Name"]] = said[one["Name"]]
    return found


def record(number: int, age_s: float = 0, **image: Any) -> dict[str, Any]:
    """Return the sample's record with another number, age and other attributes."""
    [one] = sample("fanout")["Records"]
    change = one["dynamodb"]
    changed = {
        **change,
        "SequenceNumber": str(number),
        "ApproximateCreationDateTime": time.time() - age_s,
        "NewImage": {**change["NewImage"], **image},
    }
    return {**one, "dynamodb": changed}


def of_another_session(number: int) -> dict[str, Any]:
    pk, created = f"SESSION#{TENANT}#{OTHER}", OTHER.replace("-7d40-", "-7d41-")
    return record(number, pk={"S": pk}, created={"S": created})


@pytest.mark.parametrize(
    "poison",
    [
        {"events": {"S": "["}},
        {"events": {"B": "bm8gemxpYg=="}},
        {"events": {"NULL": True}},
        {"blob": {"M": {"key": {"S": "gone"}, "sha256": {"S": "ab"}, "size_bytes": {"N": "9"}}}},
        {"version": {"S": "one"}},
    ],
)
def test_one_poisoned_record_does_not_hold_up_its_shard(
    stack: Deployed, capsys: pytest.CaptureFixture[str], poison: dict[str, Any]
) -> None:
    stack.submit("Hello")

    answer = invoke(
        stack, "fanout", {"Records": [record(1, 0, **poison), of_another_session(2), record(3)]}
    )

    assert answer == {"batchItemFailures": []}
    assert metrics_in(capsys.readouterr().out) == {"StreamRecordsSkipped": [1.0]}
    assert {message["session"] for message in stack.messages()} == {SESSION, OTHER}
    assert [frame["seq"] for frame in stack.frames()] == list(range(1, 15))


def test_a_record_of_a_deploy_under_way_comes_again_and_the_others_do_not_wait(
    stack: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    stack.submit("Hello")
    newer = {"format": {"N": "99"}}

    during = invoke(stack, "fanout", {"Records": [record(1, 0, **newer), of_another_session(2)]})
    after = invoke(stack, "fanout", {"Records": [record(1, 601, **newer), of_another_session(2)]})

    assert during == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert after == {"batchItemFailures": []}
    assert {message["session"] for message in stack.messages()} == {SESSION, OTHER}
    assert metrics_in(capsys.readouterr().out) == {"StreamRecordsSkipped": [1.0]}


def test_what_is_no_new_commit_is_passed_by(stack: Deployed) -> None:
    removed = {**record(1), "eventName": "REMOVE"}
    other = record(2, sk={"S": "HEAD"})

    answer = invoke(stack, "fanout", {"Records": [removed, other]})

    assert (answer, stack.messages()) == ({"batchItemFailures": []}, [])


# ---- heads


def lose_sections(stack: Deployed) -> None:
    """Make a head name a section that is not there."""
    missing = {"M": {"version": {"N": "1"}, "calls": {"N": "1"}}}
    stack.spoil("HEAD", "sections", missing)


@pytest.mark.parametrize("event", ["recovery_schedule", "recovery_dead_letter"])
def test_a_head_whose_sections_are_gone_is_put_aside_at_once_and_rings_once(
    stack: Deployed, capsys: pytest.CaptureFixture[str], event: str
) -> None:
    stack.submit("Hello", ago_s=3600)
    lose_sections(stack)

    first = invoke(stack, "recovery", sample(event))
    rung = metrics_in(capsys.readouterr().out)
    again = invoke(stack, "recovery", sample(event))
    not_rung = metrics_in(capsys.readouterr().out)

    assert (
        [first, again] == [{"woken": 0}] * 2
        if event == "recovery_schedule"
        else [{"batchItemFailures": []}] * 2
    )
    assert (rung["SessionsQuarantined"], "SessionsQuarantined" in not_rung) == ([1.0], False)
    assert list(stack.store.quarantined()) == [KEY]


def test_callers_of_a_head_whose_sections_are_gone_are_told_why_and_drivers_let_it_be(
    stack: Deployed,
) -> None:
    stack.submit("Hello", ago_s=3600)
    lose_sections(stack)
    event = sample("http_api")
    more = {**event, "body": event["body"].replace(TURN, "t2")}
    read = {
        **event,
        "rawPath": f"/v1/sessions/{SESSION}",
        "body": "",
        "requestContext": {
            **event["requestContext"],
            "http": {**event["requestContext"]["http"], "method": "GET"},
        },
    }

    before = invoke(stack, "http_api", more)
    asked = stack.messages()
    stack.clients.sqs.purge_queue(QueueUrl=stack.queue_url)
    invoke(stack, "recovery", sample("recovery_schedule"))
    after = [invoke(stack, "http_api", each) for each in (more, read)]
    driven = invoke(stack, "driver", queued(sample("driver_llm"), stack))

    assert (before["statusCode"], json.loads(before["body"])["code"]) == (500, "unreadable")
    assert [message["step"] for message in asked] == ["timer"]
    told = [(one["statusCode"], json.loads(one["body"])) for one in after]
    assert [(status, body["code"], body["reason"]) for status, body in told] == [
        (409, "session_quarantined", "unreadable")
    ] * 2
    assert driven == {"batchItemFailures": []}
