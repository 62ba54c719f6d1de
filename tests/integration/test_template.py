"""What template.yaml must say for the engine to be right. How the stack behaves: not here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from everturn import errors
from everturn.settings import Settings
from everturn_local.template import Deployment, Template, load_template
from everturn_local.topology import HttpRoute, read_topology

ROOT = Path(__file__).parents[2]

MODELS = frozenset({"DEMO_PROVIDER", "DEFAULT_PROVIDER"})
FRONT_DOOR = frozenset(
    {"TABLE", "BUCKET", "QUEUE_URL", "WORKER_NETWORKS", "RUNNABLE_SECONDS"} | MODELS
)
VARIABLES = {
    "http_api": FRONT_DOOR | {"TOKEN_SECRET", "S3_ENDPOINT", "WORKER_FUNCTIONS"},
    "reader": frozenset({"TABLE", "BUCKET", "TOKEN_SECRET"}),
    "websocket": FRONT_DOOR | {"TOKEN_SECRET", "WEBSOCKET_ENDPOINT"},
    "authorizer": frozenset({"TABLE", "TOKEN_SECRET"}),
    "driver": FRONT_DOOR
    | {"WEBSOCKET_ENDPOINT", "STEP_MACHINE_ARN", "LEASE_SECONDS", "DELIVERY_ATTEMPTS"}
    | {"WORKER_FUNCTIONS", "MAX_CHILD_RUN_SECONDS"},
    "fanout": frozenset({"TABLE", "BUCKET", "QUEUE_URL", "WEBSOCKET_ENDPOINT"}),
    "recovery": MODELS | {"TABLE", "BUCKET", "QUEUE_URL", "STEP_MACHINE_ARN", "RUNNABLE_SECONDS"},
    "sample_worker": frozenset(),
}
"""Each function's own variables, without `EVERTURN_`."""

GRANTED_ON_EVERYTHING = frozenset(
    {
        ("StepMachineRole", "logs:CreateLogDelivery"),
        ("StepMachineRole", "logs:DeleteLogDelivery"),
        ("StepMachineRole", "logs:DescribeLogGroups"),
        ("StepMachineRole", "logs:DescribeResourcePolicies"),
        ("StepMachineRole", "logs:GetLogDelivery"),
        ("StepMachineRole", "logs:ListLogDeliveries"),
        ("StepMachineRole", "logs:PutResourcePolicy"),
        ("StepMachineRole", "logs:UpdateLogDelivery"),
        ("TelemetryPolicy", "xray:PutTelemetryRecords"),
        ("TelemetryPolicy", "xray:PutTraceSegments"),
    }
)
"""Actions that know no resource. Source: Service Authorization Reference, Logs and X-Ray."""


@pytest.fixture(scope="module")
def template() -> Template:
    deployment = Deployment("everturn", "us-east-1", parameters={"SampleWorker": "true"})
    return load_template(ROOT / "template.yaml", deployment)


def folder_of(template: Template, logical_id: str) -> str:
    return template.code[logical_id].directory.name


def function_properties(template: Template) -> dict[str, Any]:
    functions = template.of_type("AWS::Lambda::Function")
    return {folder_of(template, name): functions[name] for name in functions}


def allowed(template: Template) -> Iterator[tuple[str, str, str, Any]]:
    """Yield (role or policy, action, resource, condition) of everything that is granted."""
    granting = template.of_type("AWS::IAM::Role") | template.of_type("AWS::IAM::ManagedPolicy")
    for name, properties in granting.items():
        documents = [each["PolicyDocument"] for each in properties.get("Policies", [])]
        documents += [properties["PolicyDocument"]] if "PolicyDocument" in properties else []
        for statement in (each for document in documents for each in document["Statement"]):
            for action in as_list(statement["Action"]):
                for resource in as_list(statement["Resource"]):
                    yield name, action, str(resource), statement.get("Condition")


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def partitions(*patterns: str) -> dict[str, Any]:
    return {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(patterns)}}


def error_names(value: Any) -> Iterator[str]:
    """Yield what stands in any `ErrorEquals` of a state machine."""
    match value:
        case dict():
            yield from value.get("ErrorEquals", ())
            for each in value.values():
                yield from error_names(each)
        case list():
            for each in value:
                yield from error_names(each)
        case _:
            return


def test_a_wake_up_stays_hidden_for_as_long_as_the_driver_may_run(template: Template) -> None:
    queue = template.of_type("AWS::SQS::Queue")["Queue"]

    timeout_s = function_properties(template)["driver"]["Timeout"]

    assert (queue["VisibilityTimeout"], timeout_s) == (900, 900)


def test_the_queue_is_ordered_by_session_and_gives_up_after_five_deliveries(
    template: Template,
) -> None:
    queues = template.of_type("AWS::SQS::Queue")

    queue, dead_letters = queues["Queue"], queues["DeadLetterQueue"]

    assert queue["FifoQueue"] is dead_letters["FifoQueue"] is True
    assert queue["FifoThroughputLimit"] == "perMessageGroupId"
    assert queue["DeduplicationScope"] == "messageGroup"
    assert queue["RedrivePolicy"] == {
        "deadLetterTargetArn": "«DeadLetterQueue.Arn»",
        "maxReceiveCount": 5,
    }
    assert dead_letters["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_driver_and_recovery_take_one_message_at_a_time_and_report_failures(
    template: Template,
) -> None:
    sources = read_topology(template).queues

    taken = {
        (each.function, each.queue, each.batch_size, each.reports_failures) for each in sources
    }

    assert taken == {
        ("driver", "Queue", 1, True),
        ("recovery", "DeadLetterQueue", 1, True),
    }


def test_fanout_sees_commits_that_no_driver_made_those_that_count_and_nothing_else(
    template: Template,
) -> None:
    (source,) = read_topology(template).streams

    filters = source.patterns

    assert (source.function, source.table, source.position) == ("fanout", "Table", "TRIM_HORIZON")
    assert (source.batch_size, source.bisects, source.reports_failures) == (100, True, True)
    keys = {"sk": {"S": [{"prefix": "LOG#"}]}}
    others = {"by": {"S": ["http_api", "websocket", "recovery"]}}
    counts = {"spend": {"M": {"owner": {"S": [{"exists": True}]}}}}
    assert filters == tuple(
        {"eventName": ["INSERT"], "dynamodb": {"Keys": keys, "NewImage": image}}
        for image in (others, counts)
    )


def test_recovery_sweeps_every_five_minutes(template: Template) -> None:
    (sweep,) = read_topology(template).schedules

    assert (sweep.function, sweep.every_s) == ("recovery", 300.0)


def test_reader_has_the_streams_and_http_api_the_rest(template: Template) -> None:
    routes = read_topology(template).http_routes

    assert set(routes) == {
        HttpRoute("ANY", "/", "http_api"),
        HttpRoute("ANY", "/{proxy+}", "http_api"),
        HttpRoute("GET", "/v1/sessions/{session_id}/events", "reader"),
        HttpRoute("GET", "/api/v1/workspaces/{slug}/agent-runs/{run_id}/stream", "reader"),
    }


def test_only_the_websocket_api_has_an_authorizer(template: Template) -> None:
    authorizers = template.of_type("AWS::ApiGatewayV2::Authorizer")
    body = template.of_type("AWS::ApiGatewayV2::Api")["HttpApi"]["Body"]

    authorized = {each["ApiId"] for each in authorizers.values()}

    assert authorized == {"«WebSocketApi»"}
    assert "security" not in json.dumps(body).lower()


def test_a_connection_is_authorized_anew_on_every_connect(template: Template) -> None:
    authorizer = template.of_type("AWS::ApiGatewayV2::Authorizer")["WebSocketAuthorizer"]
    routes = template.of_type("AWS::ApiGatewayV2::Route").values()
    played = read_topology(template).websocket

    authorized = {each["RouteKey"]: each.get("AuthorizationType", "NONE") for each in routes}

    assert authorized == {"$connect": "CUSTOM", "$default": "NONE", "$disconnect": "NONE"}
    assert authorizer["AuthorizerType"] == "REQUEST"
    assert not {"IdentitySource", "AuthorizerResultTtlInSeconds"} & authorizer.keys()
    assert played is not None
    assert played.authorizer == "authorizer"
    assert set(played.routes.values()) == {"websocket"}


def test_the_table_has_the_keys_indexes_stream_and_ttl_of_the_store(template: Template) -> None:
    table = template.of_type("AWS::DynamoDB::Table")["Table"]

    indexes = {
        each["IndexName"]: (
            [key["AttributeName"] for key in each["KeySchema"]],
            each["Projection"]["ProjectionType"],
        )
        for each in table["GlobalSecondaryIndexes"]
    }

    assert [key["AttributeName"] for key in table["KeySchema"]] == ["pk", "sk"]
    assert indexes == {
        "due": (["due_shard", "due_epoch_s"], "KEYS_ONLY"),
        "listing": (["listing_pk", "listing_sk"], "KEYS_ONLY"),
        "owned": (["owned_pk", "created"], "KEYS_ONLY"),
    }
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_IMAGE"}
    assert table["TimeToLiveSpecification"]["AttributeName"] == "expires_epoch_s"
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_what_holds_sessions_outlives_the_stack(template: Template) -> None:
    kept = {
        name
        for name, resource in template.resources.items()
        if resource.get("DeletionPolicy") == resource.get("UpdateReplacePolicy") == "Retain"
    }

    assert kept >= {"Table", "Bucket"}


@pytest.mark.parametrize("function", sorted(VARIABLES))
def test_a_function_gets_the_variables_it_needs_and_no_other(
    template: Template, function: str
) -> None:
    variables = function_properties(template)[function]["Environment"]["Variables"]

    own = {name for name in variables if name.startswith("EVERTURN_")}

    assert own == {f"EVERTURN_{name}" for name in VARIABLES[function]}
    assert variables["POWERTOOLS_SERVICE_NAME"] == "everturn"
    assert variables.keys() - own == {
        "POWERTOOLS_SERVICE_NAME",
        "POWERTOOLS_LOG_LEVEL",
        "POWERTOOLS_METRICS_NAMESPACE",
    }


def test_every_variable_is_a_setting_and_every_setting_is_a_variable() -> None:
    variables = {name.lower() for names in VARIABLES.values() for name in names}

    assert variables == set(Settings.model_fields)


def test_the_defaults_of_settings_and_template_agree(template: Template) -> None:
    variables = function_properties(template)["driver"]["Environment"]["Variables"]
    defaults = {
        name: field.default for name, field in Settings.model_fields.items() if field.default
    }

    given = {name: variables[f"EVERTURN_{name.upper()}"] for name in defaults}

    assert given == defaults


def test_every_function_has_code_of_its_name(template: Template) -> None:
    folders = {location.directory for location in template.code.values()}

    assert {folder.name for folder in folders} == set(VARIABLES)
    assert [folder.name for folder in folders if not (folder / "app.py").is_file()] == []


def test_every_function_has_a_role_and_a_log_group_of_its_own(template: Template) -> None:
    functions = function_properties(template).values()

    roles = {each["Role"] for each in functions}
    groups = {each["LoggingConfig"]["LogGroup"] for each in functions}

    assert len(roles) == len(groups) == len(VARIABLES)
    assert {each["TracingConfig"]["Mode"] for each in functions} == {"Active"}
    assert {each["LoggingConfig"]["LogFormat"] for each in functions} == {"JSON"}


def test_logs_are_not_kept_for_ever(template: Template) -> None:
    groups = template.of_type("AWS::Logs::LogGroup")

    assert {each["RetentionInDays"] for each in groups.values()} == {30}


def test_no_action_is_granted_by_pattern_and_no_resource_that_can_be_named(
    template: Template,
) -> None:
    grants = list(allowed(template))

    by_pattern = {(name, action) for name, action, _, _ in grants if "*" in action}
    on_everything = {(name, action) for name, action, where, _ in grants if where == "*"}

    assert by_pattern == set()
    assert on_everything == GRANTED_ON_EVERYTHING


def test_reader_writes_to_sessions_alone_and_authorizer_reads_what_credentials_are_judged_by(
    template: Template,
) -> None:
    reads = {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "s3:GetObject"}
    token_key = "secretsmanager:GetSecretValue"

    reader_writes = [
        (action, condition)
        for name, action, _, condition in allowed(template)
        if name == "ReaderRole" and action not in reads | {token_key}
    ]
    authorizer = [
        (action, condition)
        for name, action, _, condition in allowed(template)
        if name == "AuthorizerRole" and action != token_key
    ]

    writes = ("dynamodb:PutItem", "dynamodb:UpdateItem")
    assert reader_writes == [(action, partitions("SESSION#*")) for action in writes]
    assert authorizer == [("dynamodb:GetItem", partitions("KEY#*", "TENANT#*", "REVOKED#*"))]


WORKERS = "arn:aws:lambda:us-east-1:123456789012:function:everturn-worker-"


def test_the_step_machine_may_send_wake_ups_and_run_workers_and_nothing_else(
    template: Template,
) -> None:
    grants = {
        (action, where)
        for name, action, where, _ in allowed(template)
        if name == "StepMachineRole" and where != "*"
    }

    assert grants == {
        ("sqs:SendMessage", "«Queue.Arn»"),
        ("lambda:InvokeFunction", f"{WORKERS}*"),
    }


def test_functions_are_invoked_by_the_driver_and_the_machine_alone_and_workers_alone(
    template: Template,
) -> None:
    grants = {
        (name, where)
        for name, action, where, _ in allowed(template)
        if action == "lambda:InvokeFunction"
    }
    functions = function_properties(template)

    told = {
        name: functions[name]["Environment"]["Variables"]["EVERTURN_WORKER_FUNCTIONS"]
        for name in ("http_api", "driver")
    }

    assert grants == {("DriverRole", f"{WORKERS}*"), ("StepMachineRole", f"{WORKERS}*")}
    assert set(told.values()) == {WORKERS}


def test_the_bucket_is_closed_to_the_public_and_to_plain_http(template: Template) -> None:
    bucket = template.of_type("AWS::S3::Bucket")["Bucket"]
    policy = template.of_type("AWS::S3::BucketPolicy")["BucketPolicy"]["PolicyDocument"]

    (statement,) = policy["Statement"]

    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert (statement["Effect"], statement["Condition"]) == (
        "Deny",
        {"Bool": {"aws:SecureTransport": "false"}},
    )


def test_the_sample_worker_is_not_deployed_unless_asked_for() -> None:
    deployed = load_template(ROOT / "template.yaml", Deployment("everturn", "us-east-1"))

    folders = {folder_of(deployed, name) for name in deployed.of_type("AWS::Lambda::Function")}

    assert folders == set(VARIABLES) - {"sample_worker"}
    assert "SampleWorkerUrl" not in deployed.outputs


@pytest.mark.parametrize("path", sorted((ROOT / "statemachines").glob("*.asl.json")))
def test_a_state_machine_matches_only_errors_that_exist(path: Path) -> None:
    machine = json.loads(path.read_text(encoding="utf-8"))

    own = {name for name in error_names(machine) if "." not in name}

    assert machine["QueryLanguage"] == "JSONata"
    assert {name for name in own if not hasattr(errors, name)} == set()
