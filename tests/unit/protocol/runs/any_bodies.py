"""Bodies that hypothesis makes: any JSON, and real bodies with any JSON in one place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from unit.protocol.runs.shapes import SPEC, image, linked, with_files

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)

RUNS: list[dict[str, Any]] = [
    {**SPEC, "prompt": "Hi"},
    {**SPEC, **with_files(image(), linked())},
    {"prompt": "Hi", "supervisor": True, "plan": "auto", "loopDetection": False},
]

RESULT: dict[str, Any] = {
    "toolUseId": "t",
    "result": "done",
    "files": [{"filename": "a.png", "mimeType": "image/png", "data": "YWJj"}],
}
FEEDBACK: dict[str, Any] = {"verdict": "UP", "explanation": "x", "contentSnapshot": "y"}


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every place in a JSON value, the whole first."""
    yield at
    match value:
        case dict():
            for key, inner in value.items():
                yield from paths(inner, (*at, key))
        case list():
            for index, inner in enumerate(value):
                yield from paths(inner, (*at, index))
        case _:
            pass


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return `value` with something else at the end of `path`."""
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed


@st.composite
def spoilt(draw: st.DrawFn, bodies: list[dict[str, Any]]) -> Any:
    """Return a body with any JSON in one or two places."""
    body: Any = draw(st.sampled_from(bodies))
    for _ in range(draw(st.integers(1, 2))):
        body = replaced(body, draw(st.sampled_from(list(paths(body)))), draw(JSON))
    return body
