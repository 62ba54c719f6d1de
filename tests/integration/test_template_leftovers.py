"""What template.yaml says of uploads, and of what is left over when the stream gives up."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.observability import Metric
from everturn.store.uploads import PENDING, TAG
from everturn_local.template import Deployment, Template, load_template
from everturn_local.topology import read_topology
from integration.test_template import ROOT, allowed


@pytest.fixture(scope="module")
def template() -> Template:
    return load_template(ROOT / "template.yaml", Deployment("everturn", "us-east-1"))


def bucket_of(**parameters: str) -> dict[str, Any]:
    deployment = Deployment("everturn", "us-east-1", parameters=parameters)
    return dict(
        load_template(ROOT / "template.yaml", deployment).of_type("AWS::S3::Bucket")["Bucket"]
    )


def test_no_page_may_use_the_bucket_unless_its_origin_is_named() -> None:
    closed = bucket_of()
    opened = bucket_of(UploadOrigins="https://app.example.com,https://other.example.com")

    assert "CorsConfiguration" not in closed
    (rule,) = opened["CorsConfiguration"]["CorsRules"]
    assert rule["AllowedOrigins"] == ["https://app.example.com", "https://other.example.com"]
    assert rule["AllowedMethods"] == ["PUT", "GET", "HEAD"]


def test_uploads_that_stay_pending_are_deleted_and_nothing_else_is(template: Template) -> None:
    rules = bucket_of()["LifecycleConfiguration"]["Rules"]

    expiring = {rule["Id"]: rule for rule in rules if "ExpirationInDays" in rule}

    assert {
        name: (rule["TagFilters"], rule["ExpirationInDays"]) for name, rule in expiring.items()
    } == {"uploads-that-no-message-refers-to": ([{"Key": TAG, "Value": PENDING}], 7)}
    tagging = {name for name, action, _, _ in allowed(template) if action == "s3:PutObjectTagging"}
    assert tagging == {"HttpApiRole", "WebsocketRole"}


def test_records_that_fan_out_never_took_are_told_and_ring(template: Template) -> None:
    (source,) = read_topology(template).streams
    alarms = template.of_type("AWS::CloudWatch::Alarm")

    grants = {
        (action, where) for name, action, where, _ in allowed(template) if name == "FanoutRole"
    }

    assert (source.on_failure, source.max_retries) == ("GivenUpRecords", 50)
    assert ("sqs:SendMessage", "«GivenUpRecords.Arn»") in grants
    assert alarms["GivenUpRecordsAlarm"]["Dimensions"] == [
        {"Name": "QueueName", "Value": "«GivenUpRecords.QueueName»"}
    ]
    assert "FifoQueue" not in template.of_type("AWS::SQS::Queue")["GivenUpRecords"]


def test_every_metric_that_an_alarm_looks_at_is_one_of_ours(template: Template) -> None:
    alarms = template.of_type("AWS::CloudWatch::Alarm").values()

    watched = {each["MetricName"] for each in alarms if each["Namespace"] == "Everturn"}

    assert watched == {Metric.QUARANTINED, Metric.RECORDS_SKIPPED}
