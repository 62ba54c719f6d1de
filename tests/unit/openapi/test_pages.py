"""The pages for people against the tables that the pages for machines are made from."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from everturn.protocol.frames import InFrame, OutFrame
from everturn.store import keys
from everturn.surfaces.routes import ROUTES
from everturn_local.openapi.operations import OPERATIONS
from published import DOCS, described
from unit.openapi.test_document import codes_of, operation
from unit.test_docs import rows, section

WIRE = DOCS / "wire.md"


def test_the_route_table_has_every_route_with_its_successes() -> None:
    table = rows(section(WIRE, "## Routes"))

    written = {name: set(re.findall(r"\b\d{3}\b", cells[0])) for name, cells in table.items()}

    assert written == {
        f"{route.method} {route.path}": {
            str(answer.status) for answer in OPERATIONS[route.operation].answers
        }
        for route in ROUTES
    }


def test_no_code_that_a_route_answers_is_marked_as_later() -> None:
    table = rows(section(WIRE, "## Errors"))
    later = {code for code, cells in table.items() if "*later*" in cells[1]}

    answered = {
        code
        for route in ROUTES
        for response in operation(route)["responses"].values()
        for code in codes_of(response)
    } | {"not_found", "method_not_allowed"}

    assert later & answered == set()


@pytest.mark.parametrize(("union", "tag"), [(InFrame, "action"), (OutFrame, "type")])
def test_the_frame_tables_have_every_frame(union: object, tag: str) -> None:
    text = section(WIRE, "## WebSocket")
    cells = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)

    written = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}

    models = get_args(get_args(union)[0])
    assert {model.model_fields[tag].default for model in models} <= written


def test_the_storage_page_names_every_partition_sort_key_and_index() -> None:
    text = (DOCS / "storage.md").read_text()
    names = [keys.HEAD, keys.WATCH, keys.PREPARED, keys.META, keys.SECTION_PREFIX]
    names += [keys.LOG_PREFIX, keys.NODE_PREFIX, keys.CALL_PREFIX, keys.GONE_PREFIX, keys.TENANTS]
    names += [keys.turn_sk(""), keys.tenant_pk(""), keys.api_key_pk(""), keys.agents_pk("")]
    names += [keys.agent_sk(""), keys.connection_pk(""), "VER#agent#", "VER#state#", "DELTA#"]
    names += [keys.DUE_INDEX, keys.LISTING_INDEX, keys.OWNED_INDEX]

    assert [name for name in names if f"`{name}" not in text] == []


def test_the_page_for_machines_tells_of_every_route() -> None:
    paths = described("openapi.json")["paths"]

    told = {(path, method.upper()) for path, methods in paths.items() for method in methods}

    assert told == {(route.path, route.method) for route in ROUTES}
