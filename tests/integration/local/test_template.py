"""What the runtime reads out of a template, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from everturn_local.intrinsics import NO_VALUE, Resolver, TemplateError
from everturn_local.rates import rate_seconds
from everturn_local.template import Deployment, load_template
from everturn_local.topology import (
    HttpRoute,
    QueueSource,
    ScheduleSource,
    StreamSource,
    Topology,
    read_topology,
)
from integration.local.probe import IMPORTS, REAL_TEMPLATE, TEMPLATE


def topology_of(path: Path, **parameters: str) -> Topology:
    """The topology of a template deployed in us-east-1."""
    deployment = Deployment("s", "us-east-1", parameters=parameters, imports=IMPORTS)
    return read_topology(load_template(path, deployment))


def test_functions_carry_their_folder_and_their_limits() -> None:
    topology = topology_of(TEMPLATE)

    echo, worker = topology.function("echo"), topology.function("worker")
    assert (echo.logical_id, echo.timeout_s, echo.memory_mb) == ("EchoFunction", 1.0, 256)
    assert (echo.reserved_concurrency, echo.has_url) == (1, True)
    assert (worker.reserved_concurrency, worker.has_url) == (None, False)
    assert worker.code.directory == TEMPLATE.parent / "functions" / "worker"


def test_event_sources_are_found_with_their_settings() -> None:
    topology = topology_of(TEMPLATE)

    pattern = {"eventName": ["INSERT"], "dynamodb": {"Keys": {"sk": {"S": [{"prefix": "LOG#"}]}}}}
    assert set(topology.queues) == {
        QueueSource("worker", "Queue", 1, reports_failures=True, max_concurrency=None),
        QueueSource("sweep", "DeadLetters", 1, reports_failures=False, max_concurrency=None),
    }
    assert topology.streams == (
        StreamSource(
            function="fan",
            table="Table",
            batch_size=100,
            position="TRIM_HORIZON",
            patterns=(pattern,),
            bisects=True,
            reports_failures=True,
            max_retries=2,
            on_failure="GivenUp",
        ),
    )
    assert topology.schedules == (ScheduleSource("sweep", "SweepFunctionEvery", 300.0, None),)


def test_routes_of_both_apis_lead_to_functions() -> None:
    topology = topology_of(TEMPLATE)

    assert set(topology.http_routes) == {
        HttpRoute("ANY", "/{proxy+}", "api"),
        HttpRoute("GET", "/items/{item_id}", "api"),
        HttpRoute("POST", "/narrow", "echo"),
    }
    assert topology.cors["AllowOrigins"] == ["https://app.example"]
    assert topology.websocket is not None
    assert (topology.websocket.stage, topology.websocket.authorizer) == ("live", "gate")
    assert topology.websocket.routes == {
        "$connect": "socket",
        "$default": "socket",
        "$disconnect": "socket",
    }


def test_a_condition_decides_whether_a_function_exists() -> None:
    without, with_spare = topology_of(TEMPLATE), topology_of(TEMPLATE, Extra="on")

    assert "spare" not in {spec.name for spec in without.functions}
    assert "spare" in {spec.name for spec in with_spare.functions}


def test_an_unknown_parameter_is_refused_by_name() -> None:
    with pytest.raises(TemplateError, match="no parameter LeaseMinutes"):
        topology_of(TEMPLATE, LeaseMinutes="2")


def test_a_missing_export_is_refused_by_name() -> None:
    with pytest.raises(TemplateError, match="no stack exports shared-thing"):
        load_template(TEMPLATE, Deployment("s", "us-east-1"))


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ({"Ref": "Size"}, "7"),
        ({"Ref": "Queue"}, "«Queue»"),
        ({"Fn::GetAtt": "Queue.Arn"}, "«Queue.Arn»"),
        ({"Fn::Sub": "${Size}-${Queue.Arn}-${!Kept}"}, "7-«Queue.Arn»-${Kept}"),
        ({"Fn::Sub": ["${Own}", {"Own": {"Ref": "Size"}}]}, "7"),
        ({"Fn::If": ["Big", [1, {"Ref": "AWS::NoValue"}], 2]}, [1]),
        ({"Fn::Join": ["/", ["a", {"Ref": "Size"}]]}, "a/7"),
        ({"Fn::Select": [1, {"Fn::Split": [",", "a,b"]}]}, "b"),
        ({"Fn::FindInMap": ["Sizes", "big", "n"]}, 9),
        ({"Fn::ImportValue": {"Fn::Sub": "shared-${Size}"}}, "theirs"),
        ({"Ref": "AWS::NoValue"}, NO_VALUE),
    ],
)
def test_intrinsic_functions_resolve_as_far_as_a_template_allows(
    value: object, resolved: object
) -> None:
    resolver = Resolver(
        parameters={"Size": "7"},
        conditions={"Big": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Size"}, "1"]}]}},
        mappings={"Sizes": {"big": {"n": 9}}},
        imports={"shared-7": "theirs"},
    )

    assert resolver.resolve(value) == resolved


def test_only_rates_can_be_played() -> None:
    assert rate_seconds("rate(1 hour)") == 3600.0
    with pytest.raises(TemplateError, match="cron"):
        rate_seconds("cron(0 12 * * ? *)")


def test_the_real_template_can_be_played() -> None:
    topology = topology_of(REAL_TEMPLATE, SampleWorker="true")

    assert {spec.name for spec in topology.functions} == {
        "http_api",
        "reader",
        "websocket",
        "authorizer",
        "driver",
        "fanout",
        "recovery",
        "sample_worker",
    }
    assert {(source.function, source.batch_size) for source in topology.queues} == {
        ("driver", 1),
        ("recovery", 1),
    }
    assert [source.function for source in topology.streams] == ["fanout"]
    assert [source.function for source in topology.schedules] == ["recovery"]
    assert HttpRoute("GET", "/v1/sessions/{session_id}/events", "reader") in topology.http_routes
    assert topology.websocket is not None
    assert topology.websocket.authorizer == "authorizer"
