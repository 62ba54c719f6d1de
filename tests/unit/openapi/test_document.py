"""The published descriptions in docs/: whole, valid, and of this code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from everturn.ports.callers import Who
from everturn.surfaces.routes import ROUTES, Route
from everturn_local.openapi.operations import OPERATIONS, PATH_PARAMETERS
from everturn_local.openapi.pages import pages
from published import DOCS, HTTP, WEBSOCKET, complaints, described
from unit.test_docs import codes

DOCUMENT = described("openapi.json")
FRAMES = described("websocket.schema.json")


def operation(route: Route) -> dict[str, Any]:
    """Return what the document says of a route."""
    found: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return found


def name_of(route: Route) -> str:
    return route.operation


def test_every_route_has_an_entry_and_every_entry_a_route() -> None:
    assert {route.operation for route in ROUTES} == set(OPERATIONS)


@pytest.mark.parametrize("name", ["openapi.json", "websocket.schema.json", "protocol.schema.json"])
def test_the_files_are_what_this_code_makes(name: str) -> None:
    made = pages()

    assert (DOCS / name).read_text() == made[DOCS / name], "run `make openapi`"


def test_the_document_is_openapi_3_1() -> None:
    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_an_operation_names_its_path_its_credentials_and_its_failures(route: Route) -> None:
    shown = operation(route)

    parameters = {one["name"] for one in shown.get("parameters", ()) if one["in"] == "path"}
    proof = [name for one in shown["security"] for name in one]
    assert shown["operationId"] == route.operation
    assert parameters == set(re.findall(r"{(\w+)}", route.path))
    assert bool(proof) is (route.who is not Who.ANYONE)
    assert {"429", "500"} <= shown["responses"].keys()
    assert ("401" in shown["responses"]) is (route.who is not Who.ANYONE or route.oauth)


def test_only_parts_of_paths_that_there_are_are_told_of() -> None:
    parts = {part for route in ROUTES for part in re.findall(r"{(\w+)}", route.path)}

    assert parts == set(PATH_PARAMETERS)


def test_every_code_that_is_promised_exists_with_its_status() -> None:
    promised = {
        (code, int(status))
        for route in ROUTES
        for status, response in operation(route)["responses"].items()
        for code in codes_of(response)
    }

    assert promised <= set(codes().items())


def codes_of(response: dict[str, Any]) -> list[str]:
    """Return the codes that a refusal can have."""
    schema = response.get("content", {}).get("application/json", {}).get("schema", {})
    narrowed = [one for one in schema.get("allOf", ()) if "properties" in one]
    return [code for one in narrowed for code in one["properties"]["code"]["enum"]]


def examples(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every example of the document, with the pointer to its schema."""
    match value:
        case {"schema": _, "example": example}:
            yield f"{pointer}/schema", example
        case {"schema": _, "examples": dict() as named}:
            for one in named.values():
                yield f"{pointer}/schema", one["value"]
        case dict():
            for name, inner in value.items():
                yield from examples(inner, f"{pointer}/{escaped(name)}")
        case list():
            for position, inner in enumerate(value):
                yield from examples(inner, f"{pointer}/{position}")


def escaped(name: str) -> str:
    name = name.replace("~", "~0").replace("/", "~1")
    return name.replace("{", "%7B").replace("}", "%7D")


@pytest.mark.parametrize(("pointer", "example"), [*examples(DOCUMENT)])
def test_every_example_fits_its_schema(pointer: str, example: Any) -> None:
    assert complaints(HTTP, pointer, example) == []


@pytest.mark.parametrize(
    ("side", "example"),
    [
        (side, example)
        for side in ("ClientFrame", "ServerFrame")
        for example in FRAMES["$defs"][side]["examples"]
    ],
)
def test_every_example_of_a_frame_is_one(side: str, example: Any) -> None:
    assert complaints(WEBSOCKET, f"/$defs/{side}", example) == []
    assert complaints(WEBSOCKET, "", example) == []


def test_what_both_files_describe_they_describe_alike() -> None:
    http = DOCUMENT["components"]["schemas"]
    frames = FRAMES["$defs"]

    shared = http.keys() & frames.keys()

    assert {"EventEnvelope", "TokenDelta", "EventPayload"} <= shared
    assert [name for name in shared if told(http[name]) != told(frames[name])] == []


def told(schema: Any) -> str:
    return re.sub(r"#/(?:components/schemas|\$defs)/", "#", str(schema))


def test_no_rule_of_the_house_shows_in_what_is_published() -> None:
    text = "".join(path.read_text() for path in pages())

    assert re.findall(r"Source:|\b[A-Z]{1,2}-\d+\b|\b\w+\.md\b", text) == []
