"""Results of the caller's tools, and what people say of a run."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.runs.bodies import read_feedback, read_tool_result
from unit.protocol.runs.shapes import data_of, refusal

FILE: dict[str, Any] = {"filename": "a.png", "mimeType": "image/png", "data": data_of(3)}


@pytest.mark.parametrize(
    "body",
    [
        {"toolUseId": "tu_1"},
        {"toolUseId": "tu_1", "result": ""},
        {"toolUseId": "tu_1", "result": "done"},
        {"toolUseId": "tu_1", "error": "no"},
        {"toolUseId": "tu_1", "error": ""},
        {"toolUseId": "tu_1", "files": []},
        {"toolUseId": "tu_1", "files": [FILE]},
        {"toolUseId": "tu_1", "result": "done", "files": [FILE, {**FILE, "more": None}]},
        {"toolUseId": "x" * 900, "result": "done", "durationMs": 3},
    ],
)
def test_a_result_is_read_as_it_is(body: dict[str, Any]) -> None:
    assert read_tool_result(body).model_dump(mode="json") == body


def test_null_is_no_answer() -> None:
    body = read_tool_result({"toolUseId": "tu_1", "result": None, "error": None, "files": None})

    assert (body.result, body.error, body.files) == (None, None, None)


@pytest.mark.parametrize("files", [[FILE], [{}], 3, "x", [FILE] * 21])
def test_files_beside_an_error_are_not_looked_at(files: Any) -> None:
    body = read_tool_result({"toolUseId": "tu_1", "error": "no", "files": files})

    assert (body.error, body.files) == ("no", None)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (None, "/: should be an object"),
        ([], "/: should be an object"),
        ({}, "/toolUseId: is required"),
        ({"toolUseId": ""}, "/toolUseId: "),
        ({"toolUseId": 3}, "/toolUseId: "),
        ({"toolUseId": "t", "result": {"a": 1}}, "/result: should be a valid string"),
        ({"toolUseId": "t", "error": False}, "/error: should be a valid string"),
        (
            {"toolUseId": "t", "result": "", "error": ""},
            "/error: only one of result and error is taken",
        ),
        ({"toolUseId": "t", "files": 3}, "/files: should be a list"),
        ({"toolUseId": "t", "files": [{}]}, "/files/0/filename: is required"),
        ({"toolUseId": "t", "files": [FILE] * 21}, "/files: has more than 20 items"),
        (
            {"toolUseId": "t", "files": [{**FILE, "mimeType": "a/b"}]},
            "/files/0/mimeType: should be one of",
        ),
    ],
)
def test_a_result_that_cannot_be_is_refused_by_its_path(body: Any, told: str) -> None:
    assert refusal(read_tool_result, body).startswith(told)


@pytest.mark.parametrize(
    "body",
    [
        {"verdict": "UP"},
        {"verdict": "DOWN", "explanation": "", "contentSnapshot": "What I saw."},
        {"verdict": "DOWN", "stars": 3},
    ],
)
def test_feedback_is_read_as_it_is(body: dict[str, Any]) -> None:
    assert read_feedback(body).model_dump(mode="json") == body


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("UP", "/: should be an object"),
        ({}, "/verdict: is required"),
        ({"verdict": "up"}, "/verdict: should be 'UP' or 'DOWN'"),
        ({"verdict": None}, "/verdict: should be 'UP' or 'DOWN'"),
        ({"verdict": "UP", "explanation": 1}, "/explanation: should be a valid string"),
        ({"verdict": "UP", "contentSnapshot": {}}, "/contentSnapshot: should be a valid string"),
    ],
)
def test_feedback_that_cannot_be_is_refused_by_its_path(body: Any, told: str) -> None:
    assert refusal(read_feedback, body).startswith(told)
