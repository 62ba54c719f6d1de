"""What a function's type hints say to the engine."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Optional
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from everturn.tools.schema import check_input, compile_schema
from everturn.workers import AskUser, Context, Pending, TaskStarted, Worker


class Place(BaseModel):
    """Somewhere."""

    city: str = Field(title="The City", description="Its name.")
    country: str = "FR"


class Folder(BaseModel):
    name: str
    folders: list[Folder] = []


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    n: int


@dataclass
class Size:
    width: int
    place: Place | None = None


class Options(TypedDict):
    verbose: NotRequired[bool]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]

PLACE = {
    "description": "Somewhere.",
    "properties": {
        "city": {"description": "Its name.", "type": "string"},
        "country": {"default": "FR", "type": "string"},
    },
    "required": ["city"],
    "type": "object",
}


def declared(function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Return a function as it is declared as a tool; its schemas compile."""
    worker = Worker()
    worker.tool(**options)(function)
    (found,) = worker.agent_tools()
    for schema in (found["input"], found.get("output")):
        if schema is not None:
            compile_schema(schema)
    return found


def test_a_tool_is_its_function() -> None:
    def get_weather(city: str, units: Literal["c", "f"] = "c") -> Place:
        """Tells the weather.

        Args:
            city: Name of the city.
        """
        raise NotImplementedError

    assert declared(get_weather, effect="read", timeout_secs=30) == {
        "name": "get_weather",
        "description": "Tells the weather.",
        "effect": "read",
        "timeout_secs": 30,
        "input": {
            "type": "object",
            "properties": {
                "city": {"description": "Name of the city.", "type": "string"},
                "units": {"default": "c", "enum": ["c", "f"], "type": "string"},
            },
            "additionalProperties": False,
            "required": ["city"],
        },
        "output": PLACE,
    }


def test_every_option_is_declared_as_it_is_given() -> None:
    def save() -> None: ...

    retry = {"timeout_secs": 5, "max_retries": 4, "backoff_base_secs": 1, "backoff_max_secs": 9}

    assert declared(
        save,
        name="keep",
        description="Keeps it.",
        effect="idempotent_write",
        overlap=True,
        approval="never",
        retry=retry,
    ) == {
        "name": "keep",
        "description": "Keeps it.",
        "effect": "idempotent_write",
        "overlap": True,
        "approval": "never",
        "retry": retry,
        "input": {"type": "object", "properties": {}, "additionalProperties": False},
    }


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (list[float], {"type": "array", "items": {"type": "number"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (datetime, {"type": "string", "format": "date-time"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Annotated[int, Field(ge=1, le=5)], {"type": "integer", "minimum": 1, "maximum": 5}),
        (
            Annotated[str, Field(description="Any.", pattern="^a+$")],
            {"type": "string", "description": "Any.", "pattern": "^a+$"},
        ),
        (Place, PLACE),
        (
            Size,
            {
                "type": "object",
                "properties": {
                    "width": {"type": "integer"},
                    "place": {"anyOf": [PLACE, {"type": "null"}], "default": None},
                },
                "required": ["width"],
            },
        ),
        (
            Options,
            {
                "type": "object",
                "properties": {"verbose": {"type": "boolean"}},
                "additionalProperties": False,
            },
        ),
        (
            Pet,
            {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"const": one, "default": one, "type": "string"}},
                    }
                    for one in ("cat", "dog")
                ]
            },
        ),
        (Any, {}),
    ],
)
def test_a_parameter_is_what_its_type_says(hint: Any, schema: dict[str, Any]) -> None:
    def act(value: Any) -> None: ...

    act.__annotations__["value"] = hint

    assert declared(act)["input"]["properties"] == {"value": schema}


def test_a_type_that_contains_itself_keeps_its_reference() -> None:
    def walk(top: Folder) -> None: ...

    schema = declared(walk)["input"]

    assert schema["properties"] == {"top": {"$ref": "#/$defs/Folder"}}
    assert schema["$defs"]["Folder"]["properties"] == {
        "name": {"type": "string"},
        "folders": {"default": [], "type": "array", "items": {"$ref": "#/$defs/Folder"}},
    }
    found = check_input(schema, '{"top": {"name": "a", "folders": [{"name": 1}]}}')
    assert (found.status, getattr(found, "error", "")) == (
        "invalid",
        "/top/folders/0/name: must be string",
    )


def test_a_type_that_would_be_written_out_without_end_keeps_its_references() -> None:
    class Layer0(BaseModel):
        n: int

    layer: Any = Layer0
    for depth in range(1, 12):
        fields = {"a": layer, "b": layer, "c": layer}
        layer = type(f"Layer{depth}", (BaseModel,), {"__annotations__": fields})

    def dig(down: Any) -> None: ...

    dig.__annotations__["down"] = layer

    assert len(declared(dig)["input"]["$defs"]) == 12


def test_a_note_beside_a_reference_stays_and_a_rule_holds_as_well() -> None:
    from everturn.workers.plain_schema import plain  # noqa: PLC0415  what no hint can say

    definitions = {"N": {"type": "integer", "title": "N", "description": "old"}}

    assert plain(
        {
            "properties": {
                "title": {"$ref": "#/$defs/N", "description": "new"},
                "n": {"$ref": "#/$defs/N", "minimum": 3},
            },
            "$defs": definitions,
        }
    ) == {
        "properties": {
            "title": {"type": "integer", "description": "new"},
            "n": {"allOf": [{"type": "integer", "description": "old"}], "minimum": 3},
        }
    }


def test_names_that_python_or_pydantic_keep_for_themselves_can_be_used() -> None:
    worker = Worker()

    @worker.tool
    def odd(
        schema: int,
        model_config: int,
        _hidden: int,
        origin: Annotated[int, Field(alias="from")],
        copy: int = Field(default=3, description="Copies.", ge=1),
    ) -> list[int]:
        return [schema, model_config, _hidden, origin, copy]

    (tool,) = worker.agent_tools()
    answered = worker.answer(
        {
            "trigger": {
                "type": "tool.execute",
                "name": "odd",
                "arguments": '{"schema":1,"model_config":2,"_hidden":3,"from":4}',
            }
        }
    )

    assert list(tool["input"]["properties"]) == [
        "schema",
        "model_config",
        "_hidden",
        "from",
        "copy",
    ]
    assert tool["input"]["properties"]["copy"] == {
        "default": 3,
        "description": "Copies.",
        "minimum": 1,
        "type": "integer",
    }
    assert answered["actions"][0]["result"] == [1, 2, 3, 4, 3]


def test_the_context_is_no_part_of_the_schema() -> None:
    def look(context: Context, maybe: Context | None = None) -> None: ...

    assert declared(look)["input"]["properties"] == {}


def test_a_default_that_is_no_json_is_left_out() -> None:
    def act(value: Any = object()) -> None: ...  # noqa: B008

    assert declared(act)["input"]["properties"] == {"value": {}}


@pytest.mark.parametrize(
    ("hint", "output"),
    [
        (Place, PLACE),
        (Place | None, {"anyOf": [PLACE, {"type": "null"}]}),
        (Place | AskUser | TaskStarted, PLACE),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            Closed,
            {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
                "additionalProperties": False,
            },
        ),
        (int | float, {"anyOf": [{"type": "integer"}, {"type": "number"}]}),
        (bool, {"type": "boolean"}),
    ],
)
def test_a_precise_return_type_becomes_the_output_schema(hint: Any, output: Any) -> None:
    def act() -> Any: ...

    act.__annotations__["return"] = hint

    assert declared(act)["output"] == output


def test_a_recursive_return_type_becomes_the_output_schema() -> None:
    def act() -> Folder:
        raise NotImplementedError

    assert declared(act)["output"]["$ref"] == "#/$defs/Folder"


@pytest.mark.parametrize(
    "hint",
    [
        str,  # "12" would be checked as the number 12
        Place | str,
        Colour,
        Decimal,
        datetime,
        Any,
        object,
        None,
        dict,
        dict[str, Any],
        list,
        list[Any],
        AskUser | Pending,
        AskUser | None,
        Awaitable[int],
        Worker,
    ],
)
def test_a_return_type_that_says_too_little_is_no_schema(hint: Any) -> None:
    def act() -> Any: ...

    act.__annotations__["return"] = hint

    assert "output" not in declared(act)


def test_without_a_schema_of_its_own_a_tool_has_that_of_its_poll() -> None:
    worker = Worker()

    @worker.tool
    def render() -> TaskStarted:
        raise NotImplementedError

    @worker.poll(render)
    def rendered(task_id: str) -> Place | Pending:
        raise NotImplementedError

    assert [tool["output"] for tool in worker.agent_tools()] == [PLACE]
