"""The sample worker: three tools behind the decision protocol, over a Function URL or invoked."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.protocol.agent import read_agent
from everturn.tools.schema import compile_schema
from everturn.workers import ToolError, Worker
from worker_answers import read_response

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "functions" / "sample_worker"
NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)

Answer = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module", autouse=True)
def _on_the_path() -> Iterator[None]:
    """Let the worker find its own modules, as Lambda does."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def load(name: str) -> Any:
    """Return a module of the worker under a name that no other function's module has."""
    spec = importlib.util.spec_from_file_location(f"sample_worker_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def app(_on_the_path: None) -> Any:
    return load("app")


@pytest.fixture(scope="module")
def worker(app: Any) -> Worker:
    found: Worker = app.worker
    return found


@pytest.fixture(scope="module")
def answer(worker: Worker) -> Answer:
    return worker.answer


def request(name: str, arguments: Any, state: Any = None, **trigger: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "session_id": "s1",
        "state": state,
        "trigger": {
            "type": "tool.execute",
            "id": "call_1",
            "name": name,
            "arguments": text,
            "input": {"status": "valid", "value": {}},
            "attempt": 1,
            **trigger,
        },
    }


def result(answered: dict[str, Any]) -> Any:
    (action,) = answered["actions"]
    assert action["type"] == "tool.result", action
    return action["result"]


def error(answered: dict[str, Any]) -> str:
    (action,) = answered["actions"]
    assert (action["type"], action["retryable"]) == ("tool.error", False)
    return str(action["error"])


@pytest.mark.parametrize(
    "trigger",
    [
        {"type": "session.start"},
        {"type": "client.messages", "messages": [], "new_from": 0, "client": {}},
        {"type": "tool.finished", "id": "c", "ok": True, "name": "clock", "result": "x"},
        {"type": "something.new"},
    ],
)
def test_everything_but_a_tool_call_is_left_to_the_engine(
    answer: Answer, trigger: dict[str, Any]
) -> None:
    proposed = {"actions": [{"type": "llm.call"}]}

    assert answer({"trigger": trigger, "proposed": proposed}) == proposed


def test_the_clock_tells_utc_by_default(answer: Answer) -> None:
    before = datetime.now(UTC)
    told = result(answer(request("clock", {})))

    assert told["timezone"] == "UTC"
    assert before.replace(microsecond=0) <= datetime.fromisoformat(told["utc_time"])


def test_the_clock_tells_the_time_elsewhere() -> None:
    clock = load("sample_clock")

    assert clock.time_in("Asia/Tokyo", NOON) == clock.LocalTime(
        "Asia/Tokyo", "2026-01-15T21:00:00+09:00", "Thursday", "2026-01-15T12:00:00Z"
    )


@pytest.mark.parametrize("zone", ["Mars/Base", "../etc/passwd", "Europe", "a" * 5000, "a\0b"])
def test_the_clock_says_how_to_write_a_time_zone(answer: Answer, zone: str) -> None:
    assert "Write an IANA name such as UTC" in error(answer(request("clock", {"timezone": zone})))


def test_a_machine_without_zones_says_so() -> None:
    clock = load("sample_clock")

    def nowhere(name: str) -> tzinfo:
        raise ZoneInfoNotFoundError(name)

    with pytest.raises(ToolError, match="no time zone database, so only UTC"):
        clock.time_in("Asia/Tokyo", NOON, nowhere)

    assert clock.time_in("UTC", NOON, nowhere).timezone == "UTC"


@pytest.mark.parametrize(
    ("value", "source", "target", "text"),
    [
        ("1", "mi", "km", "1 mi = 1.609344 km"),
        ("0.1", "m", "cm", "0.1 m = 10 cm"),
        ("1", "m", "ft", "1 m = 3.28083989501312 ft"),
        ("3", "ft", "yd", "3 ft = 1 yd"),
        ("1", "lb", "g", "1 lb = 453.59237 g"),
        ("100", "C", "F", "100 C = 212 F"),
        ("-40", "°F", "celsius", "-40 F = -40 C"),
        ("0", "K", "C", "0 K = -273.15 C"),
        ("32", "fahrenheit", "Kelvin", "32 F = 273.15 K"),
        ("1", "gallon", "liters", "1 gal = 3.785411784 l"),
        ("2", "cups", "fl oz", "2 cup = 16 fl_oz"),
        ("36", "km/h", "m/s", "36 km/h = 10 m/s"),
        ("1", "knot", "km/h", "1 kn = 1.852 km/h"),
        ("1.5", "GiB", "MiB", "1.5 GiB = 1536 MiB"),
        ("8", "Mb", "MB", "8 Mbit = 1 MB"),
        ("1", "TB", "GB", "1 TB = 1000 GB"),
        ("90", "minutes", "h", "90 min = 1.5 h"),
        ("1", "ha", "acre", "1 ha = 2.47105381467165 acre"),
        ("-0.0", "m", "km", "0 m = 0 km"),
        ("1e20", "km", "m", "100000000000000000000 km = 100000000000000000000000 m"),
    ],
)
def test_conversions_are_exact(
    answer: Answer, value: str, source: str, target: str, text: str
) -> None:
    arguments = f'{{"value": {value}, "from": "{source}", "to": "{target}"}}'

    assert result(answer(request("convert", arguments)))["text"] == text


def test_a_conversion_has_value_and_unit_apart(answer: Answer) -> None:
    arguments = {"value": 5, "from": "kilometers", "to": "Miles"}

    assert result(answer(request("convert", arguments))) == {
        "value": "3.10685596118667",
        "unit": "mi",
        "text": "5 km = 3.10685596118667 mi",
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"value":1,"from":"km","to":"kg"}', "km measures length and kg mass"),
        ('{"value":1,"from":"furlong","to":"km"}', "from should be a unit that I know"),
        ('{"value":1,"from":"km","to":"mb"}', "to should be a unit that I know"),
        ('{"value":1,"from":"km"}', "/to: is required"),
        ('{"value":"many","from":"km","to":"m"}', "/value: should be a valid number"),
        ('{"value":NaN,"from":"km","to":"m"}', "value should be a number"),
        ('{"value":1e999,"from":"km","to":"m"}', "value should be a number"),
        ('{"value":1e-61,"from":"km","to":"m"}', "more digits than a measurement"),
        ('{"value":1e61,"from":"km","to":"m"}', "more digits than a measurement"),
        ('{"value":-1,"from":"K","to":"C"}', "-1 K is below absolute zero"),
        ("[1]", "/: should be an object"),
        ("{broken", "/: Invalid JSON"),
    ],
)
def test_what_cannot_be_converted_is_said(answer: Answer, arguments: str, told: str) -> None:
    assert told in error(answer(request("convert", arguments)))


UNITS = st.sampled_from(["m", "km", "ft", "mi", "nmi", "in"])


@settings(deadline=None)
@given(value=st.decimals(-1000, 1000, places=4), there=UNITS)
def test_exact_conversions_come_back(answer: Answer, value: Any, there: str) -> None:
    text = f'{{"value": {value}, "from": "{there}", "to": "m"}}'
    metres = result(answer(request("convert", text)))["value"]
    back = f'{{"value": {metres}, "from": "m", "to": "{there}"}}'

    assert type(value)(result(answer(request("convert", back)))["value"]) == value


def test_notes_are_kept_in_the_state(answer: Answer) -> None:
    added = answer(request("note_pad", {"action": "add", "text": " milk "}, None))
    again = answer(request("note_pad", {"action": "add", "text": "tea"}, added["state"]))
    listed = answer(request("note_pad", {"action": "list"}, again["state"]))
    cleared = answer(request("note_pad", {"action": "clear"}, again["state"]))

    assert added["state"] == {"notes": ["milk"]}
    assert (result(again), again["state"]) == (
        {"notes": ["milk", "tea"], "count": 2},
        {"notes": ["milk", "tea"]},
    )
    assert listed == {"actions": [{"type": "tool.result", "result": result(again)}]}
    assert (result(cleared), cleared["state"]) == ({"notes": [], "count": 0}, {"notes": []})


def test_the_same_delivery_twice_adds_one_note(answer: Answer) -> None:
    delivery = request("note_pad", {"action": "add", "text": "milk"}, {"notes": ["tea"]})

    assert answer(delivery) == answer(delivery)


def test_what_else_is_in_the_state_stays(answer: Answer) -> None:
    state = {"notes": 5, "lang": "en"}

    added = answer(request("note_pad", {"action": "add", "text": "milk"}, state))

    assert added["state"] == {"notes": ["milk"], "lang": "en"}


@pytest.mark.parametrize(
    ("arguments", "state", "told"),
    [
        ({"action": "burn"}, None, "/action: should be 'add', 'list' or 'clear'"),
        ({}, None, "/action: is required"),
        ({"action": "add"}, None, "text is needed"),
        ({"action": "add", "text": "  "}, None, "text is needed"),
        ({"action": "add", "text": "x" * 1001}, None, "/text: String should have at most 1000"),
        ({"action": "add", "text": "x"}, {"notes": ["n"] * 100}, "full with 100 notes"),
    ],
)
def test_what_cannot_be_noted_is_said(
    answer: Answer, arguments: dict[str, Any], state: Any, told: str
) -> None:
    assert told in error(answer(request("note_pad", arguments, state)))


def test_a_function_url_post_is_answered(app: Any) -> None:
    body = json.dumps(request("note_pad", {"action": "add", "text": "caf\u00e9"}))

    reply = app.lambda_handler({"requestContext": {"http": {"method": "POST"}}, "body": body}, None)

    assert (reply["statusCode"], reply["headers"]["content-type"]) == (200, "application/json")
    assert json.loads(reply["body"]) == {
        "actions": [{"type": "tool.result", "result": {"notes": ["caf\u00e9"], "count": 1}}],
        "state": {"notes": ["caf\u00e9"]},
    }


def test_the_sample_event_is_answered(app: Any) -> None:
    event = json.loads((ROOT / "events" / "sample_worker.json").read_text())

    reply = app.lambda_handler(event, None)

    assert result(json.loads(reply["body"]))["text"] == "5 km = 3.10685596118667 mi"


def test_the_demo_agent_offers_exactly_the_workers_tools(worker: Worker) -> None:
    definition = json.loads((FOLDER / "agent.json").read_text())

    agent = read_agent(definition)

    assert definition["tools"] == worker.agent_tools()
    assert (agent.model, agent.decides, agent.worker) == ("demo:demo", "engine", None)
    assert {tool.name: (tool.effect, tool.overlap) for tool in agent.tools or ()} == {
        "clock": ("read", None),
        "convert": ("read", None),
        "note_pad": ("non_idempotent_write", False),
    }
    for tool in agent.tools or ():
        assert isinstance(tool.input, dict)
        assert isinstance(tool.output, dict)
        compile_schema(tool.input)
        compile_schema(tool.output)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("clock", {}),
        ("convert", {"value": 1, "from": "km", "to": "m"}),
        ("convert", {}),
        ("note_pad", {"action": "add", "text": "milk"}),
    ],
)
def test_every_answer_is_a_decision_response(
    answer: Answer, name: str, arguments: dict[str, Any]
) -> None:
    read_response(answer(request(name, arguments)), decides="engine")


def test_the_handler_is_short() -> None:
    assert len((FOLDER / "app.py").read_text().splitlines()) <= 60
