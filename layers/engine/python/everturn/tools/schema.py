"""Checks of tool arguments and results against the schemas of their tools; settles no call."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from everturn.protocol.json_text import canonical, read_json
from everturn.protocol.trigger import (
    InvalidInput,
    MalformedInput,
    ToolInput,
    ValidInput,
)
from everturn.protocol.wire import Json, JsonSchema
from everturn.rejections import InvalidJson, InvalidToolSchema

if TYPE_CHECKING:
    from everturn.tools.validator import Checker

MAX_SCHEMA_BYTES = 256 * 1024
MAX_CACHED = 256


class _Checkers:
    """The checkers of the schemas used last, by the hash of their canonical text."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._checkers: OrderedDict[bytes, Checker] = OrderedDict()

    def of(self, schema: JsonSchema) -> Checker:
        """Return the checker, made at first sight. Raises `InvalidToolSchema`."""
        from everturn.tools.validator import Checker  # noqa: PLC0415  80 ms, paid by who checks

        try:
            text = canonical(schema)
        except InvalidJson:
            raise InvalidToolSchema("/: the schema is not lossless JSON") from None
        if len(text) > MAX_SCHEMA_BYTES:
            raise InvalidToolSchema(f"/: the schema is larger than {MAX_SCHEMA_BYTES} bytes")
        key = hashlib.sha256(text).digest()
        with self._lock:
            found = self._checkers.get(key)
            if found is not None:
                self._checkers.move_to_end(key)
                return found
        made = Checker(schema)
        with self._lock:
            self._checkers[key] = made
            while len(self._checkers) > MAX_CACHED:
                self._checkers.popitem(last=False)
        return made


_CHECKERS = _Checkers()


def compile_schema(schema: JsonSchema) -> None:
    """Return if `schema` can be used for checks.

    Refused are what its own draft forbids (2020-12 unless `$schema` names another), references that
    lead outside or nowhere or round in circles, patterns that may take for ever, and 256 KiB.
    Raises `InvalidToolSchema` with the place inside the schema. Source: P-3.
    """
    _CHECKERS.of(schema)


def check_input(tool_input_schema: JsonSchema | None, arguments_text: str) -> ToolInput:
    """Return what is to be said of a tool call's arguments. Source: U-4.

    `value` is the parsed object, with nothing filled in or converted; without a schema any object
    is valid. `error` names the first violation, as in `/city: required`. Raises
    `InvalidToolSchema` for a schema that `compile_schema` would have refused.
    """
    try:
        value = read_json(arguments_text) if arguments_text else {}
    except InvalidJson as error:
        return MalformedInput(error=error.message)
    if not isinstance(value, dict):
        return MalformedInput(error=f"it is {_kind(value)}")
    violation = None if tool_input_schema is None else _CHECKERS.of(tool_input_schema).first(value)
    if violation is not None:
        return InvalidInput(value=value, error=violation)
    return ValidInput(value=value)


def check_output(schema: JsonSchema, text: str) -> str | None:
    """Return the first violation of a result, as in `/sky: required`, or None. Source: U-9.

    Text that is not JSON is checked as a string. Raises as `check_input`.
    """
    value: Json
    try:
        value = read_json(text)
    except InvalidJson:
        value = text
    return check_value(schema, value)


def check_value(schema: JsonSchema, value: Json) -> str | None:
    """Return the first violation of a value, as in `/sky: required`, or None.

    Raises `InvalidToolSchema`.
    """
    return _CHECKERS.of(schema).first(value)


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case _:
            return "an array"
