"""What a function returns as JSON of the wire, or the reason why it cannot be; it runs nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_jsonable_python

from everturn.protocol.json_text import compact, read_json
from everturn.protocol.limits import (
    KIB,
    LAMBDA_PAYLOAD_BYTES,
    MAX_DECISION_BODY_BYTES,
    MAX_JSON_DEPTH,
    MAX_RESULT_BYTES,
    MAX_STATE_BYTES,
)
from everturn.rejections import InvalidJson
from everturn.workers.replies import ToolError

LAMBDA_ANSWER_BYTES: Final = LAMBDA_PAYLOAD_BYTES - 4 * KIB
"""What an answer may have of Lambda's payload; status and headers take the rest."""

_ESCAPED: Final = 6
"""One byte of text is at most so many in JSON: `\\u0000`."""

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


class NotJson(ValueError):
    """A value that cannot be said in JSON without loss; the text says why."""


def to_plain(value: Any, adapter: TypeAdapter[Any] | None = None) -> Any:
    """Return `value` as JSON types: whatever pydantic can dump, as `adapter` says where given.

    Raises `NotJson` for bytes, NaN, half a surrogate pair, circles and anything unknown.
    """
    return _written(value, adapter)[0]


def _written(value: Any, adapter: TypeAdapter[Any] | None = None) -> tuple[Any, str]:
    """Return a value as JSON types and as compact JSON."""
    _refuse_bytes(value)
    try:
        if adapter is not None:
            made = adapter.dump_python(value, mode="json", by_alias=True, warnings=False)
        else:
            made = to_jsonable_python(value, by_alias=True)
        text = compact(made)
    except PydanticSerializationError as error:
        raise NotJson(str(error)) from None
    except InvalidJson as error:
        raise NotJson(error.message) from None
    except (ValueError, RecursionError) as error:
        raise NotJson(f"it cannot be written as JSON ({type(error).__name__})") from None
    return made, text


def to_result(name: str, value: Any, adapter: TypeAdapter[Any] | None) -> Any:
    """Return the result of the tool `name` as JSON types.

    Raises `ToolError` for what is no JSON or over 2 MiB as text.
    """
    try:
        made, text = _written(value, adapter)
    except NotJson as error:
        raise ToolError(f"The result of {name} is no JSON: {error}", code="not_json") from error
    size = len((made if isinstance(made, str) else text).encode())
    if size > MAX_RESULT_BYTES:
        raise too_large(f"The result of {name}", size, MAX_RESULT_BYTES)
    return made


def to_state(name: str, value: Any) -> Any:
    """Return a new state as JSON types; None, which would keep the old one, as an empty one.

    Raises `ToolError` as `to_result`. Source: Z-1.
    """
    try:
        made, text = ({}, "{}") if value is None else _written(value)
    except NotJson as error:
        raise ToolError(f"The state of {name} is no JSON: {error}", code="not_json") from error
    size = len(text.encode())
    if size > MAX_STATE_BYTES:
        raise too_large(f"The state of {name}", size, MAX_STATE_BYTES)
    return made


def too_large(what: str, size_bytes: int, limit_bytes: int) -> ToolError:
    """Return the error for something that nobody would take."""
    return ToolError(
        f"{what} is over {limit_bytes} bytes.",
        code="too_large",
        detail={"limit_bytes": limit_bytes, "size_bytes": size_bytes},
    )


Fits = Callable[[Mapping[str, Any], bytes], bool]
"""Whether a response, and its compact JSON, can be carried back."""


def is_shallow(body: bytes) -> bool:
    """Tell whether the engine reads JSON that is nested so deeply."""
    if body.count(b"[") + body.count(b"{") <= MAX_JSON_DEPTH:
        return True
    try:
        read_json(body)
    except InvalidJson:
        return False
    return True


def fits_http(_response: Mapping[str, Any], body: bytes) -> bool:
    """Tell whether the engine reads a body of this length."""
    return len(body) <= MAX_DECISION_BODY_BYTES


def fits_invocation(response: Mapping[str, Any], body: bytes) -> bool:
    """Tell whether Lambda can return `response`: it writes it with all but ASCII escaped."""
    return (
        len(body) * _ESCAPED <= LAMBDA_ANSWER_BYTES
        or len(json.dumps(response)) <= LAMBDA_ANSWER_BYTES
    )


def fits_function_url(_response: Mapping[str, Any], body: bytes) -> bool:
    """Tell whether a Function URL can return `body`, as text or as base64."""
    return len(to_url_body(body)[0]) <= LAMBDA_ANSWER_BYTES


def to_url_body(body: bytes) -> tuple[str, bool]:
    """Return a body as a Function URL's answer holds it, and whether that is base64.

    Text is escaped once more on its way; base64 grows by a third, whatever it holds.
    """
    text = body.decode()
    if len(body) * _ESCAPED <= LAMBDA_ANSWER_BYTES or len(json.dumps(text)) <= LAMBDA_ANSWER_BYTES:
        return text, False
    return base64.b64encode(body).decode("ascii"), True


def _refuse_bytes(value: Any, depth: int = 0) -> None:
    """Raise `NotJson` for bytes among plain containers; models say themselves how to write them."""
    match value:
        case bytes() | bytearray() | memoryview():
            raise NotJson("bytes are no JSON; return text, or a reference to a file")
        case dict():
            inside: Iterable[Any] = value.values()
        case list() | tuple() | set() | frozenset():
            inside = value
        case _:
            return
    for one in inside:
        if type(one) not in _SCALARS and depth < MAX_JSON_DEPTH:
            _refuse_bytes(one, depth + 1)
