"""Each function on its samples, with the template's resources in moto: what really comes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from everturn.observability import metrics
from everturn.ports.callers import NOBODY, to_fields
from everturn.ports.sessions import Owner, SessionKey
from integration.deployed import (
    API_KEY,
    CONNECTION,
    EVENTS,
    LAMBDA_GIVES,
    REGION,
    ROOT,
    SESSION,
    TENANT,
    TURN,
    Context,
    Deployed,
    deployed,
    forget_wiring,
    load_handler,
    queued,
    sample,
)

pytestmark = pytest.mark.filterwarnings("ignore:No application metrics")
KEY = SessionKey(TENANT, SESSION)
FUNCTIONS = {
    "http_api": ("http_api",),
    "reader": ("reader",),
    "websocket": ("websocket_connect", "websocket_default", "websocket_disconnect"),
    "authorizer": ("authorizer",),
    "driver": (
        "driver_llm",
        "driver_tool",
        "driver_tool_answer",
        "driver_timer",
        "driver_decision",
    ),
    "fanout": ("fanout",),
    "recovery": ("recovery_dead_letter", "recovery_schedule"),
    "sample_worker": ("sample_worker",),
}
COLD = [(function, name) for function, names in FUNCTIONS.items() for name in names]


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    for name, value in LAMBDA_GIVES.items():
        monkeypatch.setenv(name, value)
    metrics.namespace = "Everturn"  # read when the engine was imported, before the template was
    with deployed() as made:
        made.seed()
        yield made
    forget_wiring()


def invoke(
    stack: Deployed,
    function: str,
    event: dict[str, Any],
    remaining_ms: int = 900_000,
    changed: Mapping[str, str] | None = None,
) -> Any:
    """Invoke a function with its own variables, some of them changed, and no other of ours."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**stack.environment(function), **(changed or {})}.items():
            patch.setenv(name, value)
        forget_wiring()
        return load_handler(function)(event, Context(function, remaining_ms=remaining_ms))


def texts(stack: Deployed) -> list[tuple[str, Any]]:
    logged = stack.store.materialise(KEY, stack.store.log(KEY, 1))
    events = [event for commit in logged for event in commit.events]
    messages = [event.message for event in events if event.type == "message.new"]
    return [(message["role"], message.get("content")) for message in messages]


# ---- the doors


def test_http_api_records_an_input_and_wakes_a_driver(stack: Deployed) -> None:
    answer = invoke(stack, "http_api", sample("http_api"))

    assert (answer["statusCode"], json.loads(answer["body"])) == (
        202,
        {"session_id": SESSION, "turn_id": TURN},
    )
    assert texts(stack) == [("user", "What is the capital of France?")]
    wake = {"step": "llm", "tenant": TENANT, "session": SESSION, "version": 1}
    assert stack.messages() == [wake]


def test_reader_streams_what_lies_after_the_cursor(stack: Deployed) -> None:
    stack.submit("Hello")

    answer = invoke(stack, "reader", sample("reader"))

    assert answer["headers"]["content-type"] == "text/event-stream"
    assert answer["body"].startswith("id: 1.0-0\nevent: session.created\ndata: {")


def test_reader_streams_runs_as_well(stack: Deployed) -> None:
    path = "/api/v1/workspaces/{slug}/agent-runs/{run_id}/stream"
    named = {"slug": TENANT, "run_id": "none"}
    asked = {"routeKey": f"GET {path}", "rawPath": path.format(**named), "pathParameters": named}

    answer = invoke(stack, "reader", sample("reader") | asked)

    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (404, "unknown_run")


def test_authorizer_lets_a_known_key_in_and_no_unknown_one(stack: Deployed) -> None:
    event = sample("authorizer")
    liar = {**event, "headers": {"Authorization": "Bearer nobody's"}}
    browser = {**event, "headers": {}, "queryStringParameters": {"api_key": API_KEY}}
    stranger = {**event, "headers": {}}

    answers = [invoke(stack, "authorizer", each) for each in (event, liar, browser, stranger)]

    effects = [one["policyDocument"]["Statement"][0]["Effect"] for one in answers]
    assert effects == ["Allow", "Deny", "Allow", "Allow"]
    known = {"tenant": TENANT}
    assert [one["context"] for one in answers] == [known, {}, known, to_fields(NOBODY)]


def test_websocket_connects_subscribes_and_forgets(stack: Deployed) -> None:
    stack.submit("Hello")
    stack.store.remove_watcher(KEY, CONNECTION)
    stack.directory.delete_connection(CONNECTION)

    connected = invoke(stack, "websocket", sample("websocket_connect"))
    invoke(stack, "websocket", sample("websocket_default"))
    watchers = stack.store.watch(KEY).watchers
    invoke(stack, "websocket", sample("websocket_disconnect"))

    assert connected == {"statusCode": 200}
    assert [watcher.connection_id for watcher in watchers] == [CONNECTION]
    seq = stack.store.head(KEY).session.seq
    assert [frame["type"] for frame in stack.frames()] == ["subscribed", *["event"] * seq]
    assert stack.store.watch(KEY).watchers == ()
    assert stack.directory.connection(CONNECTION) is None


# ---- the driver


@pytest.mark.parametrize("name", ["driver_llm", "driver_decision"])
def test_driver_answers_an_input_and_pushes_it(stack: Deployed, name: str) -> None:
    stack.submit("[[say:Paris.]]")

    answer = invoke(stack, "driver", queued(sample(name), stack))

    assert answer == {"batchItemFailures": []}
    assert texts(stack)[-1] == ("assistant", "Paris.")
    head = stack.store.head(KEY)
    assert head.owner == Owner(1, Context("driver").aws_request_id)
    pushed = [frame["seq"] for frame in stack.frames() if frame["type"] == "event"]
    assert pushed == list(range(1, head.session.seq + 1))


class Worker(BaseHTTPRequestHandler):
    """Answers every delivery with one result."""

    def do_POST(self) -> None:  # http.server's name
        self.rfile.read(int(self.headers["content-length"]))
        body = b'{"actions":[{"type":"tool.result","result":"3.1 mi"}]}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        return


@pytest.fixture
def worker_url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Worker)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    thread.join()
    server.server_close()


def test_driver_runs_a_tool_that_was_handed_over(stack: Deployed, worker_url: str) -> None:
    record = stack.directory.agent(TENANT, "helper")
    stack.directory.put_agent(TENANT, with_worker(record, worker_url))
    stack.submit("[[call:convert {}]][[turn]][[say:{{result}}]]")
    first = queued(sample("driver_llm"), stack)
    invoke(stack, "driver", first, remaining_ms=250_000)
    waiting = texts(stack)
    done(stack, first)
    [handed_over] = _records(stack)
    event = {"Records": [{**sample("driver_tool")["Records"][0], **handed_over}]}

    answer = invoke(stack, "driver", event)

    assert answer == {"batchItemFailures": []}
    assert waiting[-1] == ("assistant", None)
    assert texts(stack)[-2:] == [("tool", "3.1 mi"), ("assistant", "3.1 mi")]


def with_worker(record: Any, url: str, **more: Any) -> Any:
    from dataclasses import replace  # noqa: PLC0415  # the one use

    return replace(record, definition={**record.definition, "worker": url, **more})


def done(stack: Deployed, event: dict[str, Any]) -> None:
    handle = event["Records"][0]["receiptHandle"]
    stack.clients.sqs.delete_message(QueueUrl=stack.queue_url, ReceiptHandle=handle)


def _records(stack: Deployed) -> list[dict[str, Any]]:
    got = stack.clients.sqs.receive_message(QueueUrl=stack.queue_url, MaxNumberOfMessages=10)
    return [
        {"receiptHandle": one["ReceiptHandle"], "body": one["Body"]}
        for one in got.get("Messages", [])
    ]


def test_driver_leaves_a_long_wait_to_the_step_machine_and_goes_on_when_it_fires(
    stack: Deployed,
) -> None:
    stack.submit("[[flaky:1 overloaded]][[say:There you are.]]")
    first = queued(sample("driver_llm"), stack)
    invoke(stack, "driver", first)
    done(stack, first)
    machine = stack.stack.physical["StepMachine"]
    executions = stack.clients.stepfunctions.list_executions(stateMachineArn=machine)

    answer = invoke(stack, "driver", queued(sample("driver_timer"), stack))

    assert [one["name"][:5] for one in executions["executions"]] == ["wait-"]
    assert answer == {"batchItemFailures": []}
    assert texts(stack)[-1] == ("assistant", "There you are.")


def test_driver_gives_back_what_it_may_not_do(stack: Deployed) -> None:
    stack.submit("[[say:Paris.]]")
    before = stack.store.head(KEY)
    event = sample("driver_llm")  # its receipt handle is none of the queue's
    broken = {"Records": [{**event["Records"][0], "body": "{}"}]}

    answers = [invoke(stack, "driver", each) for each in (event, broken)]

    failed = [{"itemIdentifier": event["Records"][0]["messageId"]}]
    assert answers == [{"batchItemFailures": failed}] * 2
    assert stack.store.head(KEY) == before


# ---- fan-out, recovery, worker


def test_fanout_wakes_a_driver_and_pushes_to_the_reader(stack: Deployed) -> None:
    stack.submit("What is the capital of France?")

    answer = invoke(stack, "fanout", sample("fanout"))

    assert answer == {"batchItemFailures": []}
    assert [message["step"] for message in stack.messages()] == ["llm"]
    assert [frame["seq"] for frame in stack.frames()] == list(range(1, 15))


def test_recovery_fails_the_turn_of_a_dead_letter(stack: Deployed) -> None:
    stack.submit("Hello")
    event = sample("recovery_dead_letter")
    [record] = event["Records"]
    unread = {**record, "body": '{"step":"dance"}'}

    answer = invoke(stack, "recovery", {"Records": [record, unread]})

    assert answer == {"batchItemFailures": []}
    assert stack.store.head(KEY).session.last_outcome == "failed"


def test_recovery_keeps_a_dead_letter_that_it_cannot_settle(stack: Deployed) -> None:
    stack.submit("Hello")
    stack.directory.delete_agent(TENANT, "helper")
    stack.spoil("HEAD", "format", {"N": "99"})
    event = sample("recovery_dead_letter")

    answer = invoke(stack, "recovery", event)

    failed = [{"itemIdentifier": event["Records"][0]["messageId"]}]
    assert answer == {"batchItemFailures": failed}


def test_recovery_puts_aside_what_nobody_can_read_and_the_driver_lets_it_be(
    stack: Deployed,
) -> None:
    stack.submit("Hello")
    stack.spoil("LOG#000000000014", "events", {"S": "["})
    dead = sample("recovery_dead_letter")

    answers = [invoke(stack, "recovery", dead), invoke(stack, "recovery", dead)]
    driven = invoke(stack, "driver", queued(sample("driver_llm"), stack))
    posted = invoke(stack, "http_api", _posting("t2"))

    assert [*answers, driven] == [{"batchItemFailures": []}] * 3
    assert stack.store.head(KEY).quarantined.reason == "unreadable"
    assert (posted["statusCode"], json.loads(posted["body"])["reason"]) == (409, "unreadable")


def _posting(turn: str) -> dict[str, Any]:
    event = sample("http_api")
    return {**event, "body": event["body"].replace(TURN, turn)}


def test_recovery_wakes_what_nobody_looked_after(stack: Deployed) -> None:
    stack.submit("Hello", ago_s=3600)

    answer = invoke(stack, "recovery", sample("recovery_schedule"))

    assert answer == {"woken": 1}
    assert [message["step"] for message in stack.messages()] == ["timer"]


def test_sample_worker_runs_a_tool(stack: Deployed) -> None:
    answer = invoke(stack, "sample_worker", sample("sample_worker"))

    [action] = json.loads(answer["body"])["actions"]
    assert (answer["statusCode"], action["type"]) == (200, "tool.result")
    assert action["result"]["unit"] == "mi"


# ---- cold starts, sizes, samples

SEEN: dict[str, Any] = {
    "http_api": lambda result: result["statusCode"] == 202,
    "reader": lambda result: result["statusCode"] == 200,
    "websocket": lambda result: result == {"statusCode": 200},
    "authorizer": lambda result: result["principalId"] == TENANT,
    "driver": lambda result: result == {"batchItemFailures": []},
    "fanout": lambda result: result == {"batchItemFailures": []},
    "recovery": lambda result: result in ({"batchItemFailures": []}, {"woken": 1}),
    "sample_worker": lambda result: result["statusCode"] == 200,
}


@pytest.mark.slow
@pytest.mark.parametrize(("function", "name"), COLD, ids=[name for _, name in COLD])
def test_a_cold_start_needs_no_variable_but_those_of_the_template(function: str, name: str) -> None:
    script = ROOT / "tests" / "integration" / "deployed.py"
    paths = [ROOT / "layers" / "engine" / "python", ROOT / "local", ROOT / "tests"]
    ran = subprocess.run(  # noqa: S603  # our own script, our own interpreter
        [sys.executable, str(script), function, name],
        env={**LAMBDA_GIVES, "PYTHONPATH": ":".join(map(str, paths))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert SEEN[function](json.loads(ran.stdout.splitlines()[-1])), ran.stdout


def test_a_handler_is_sixty_lines_at_most() -> None:
    apps = {path.parent.name: path for path in (ROOT / "functions").glob("*/app.py")}

    assert apps.keys() == FUNCTIONS.keys()
    for path in apps.values():
        assert len(path.read_text().splitlines()) <= 60, path


def test_every_sample_is_some_functions_and_names_nobody_real() -> None:
    names = {path.stem for path in EVENTS.glob("*.json")}

    assert names == {name for _, name in COLD}
    for path in EVENTS.glob("*.json"):
        accounts = _accounts(path)
        assert accounts <= {"123456789012"}, path


def _accounts(path: Path) -> set[str]:
    import re  # noqa: PLC0415  # the one use

    return set(re.findall(rf"arn:aws:[a-z-]+:{REGION}:(\d{{12}}):", path.read_text()))
