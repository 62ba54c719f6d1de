"""One compiled JSON Schema and the bounds of its checks; who asks and why is not known here.

Importing this costs 80 ms (jsonschema): go through `schema.py`, which does so when it must.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from everturn.protocol.wire import Json, JsonSchema
from everturn.rejections import InvalidToolSchema
from everturn.tools.patterns import max_subject_chars, refusal
from everturn.tools.subschemas import Place, places
from everturn.tools.violation import pointer, violation

MAX_STEPS = 500_000
"""Keywords looked at in one check: some seconds, whatever schema and value do to each other."""
MAX_ERRORS = 1000
MAX_TRIAL_STEPS = 50_000

_DRAFTS = {
    "json-schema.org/draft-04/schema": Draft4Validator,
    "json-schema.org/draft-06/schema": Draft6Validator,
    "json-schema.org/draft-07/schema": Draft7Validator,
    "json-schema.org/draft/2019-09/schema": Draft201909Validator,
    "json-schema.org/draft/2020-12/schema": Draft202012Validator,
}
_STEPS: ContextVar[Iterator[int]] = ContextVar("steps")


class _TooMuchWork(Exception):
    """The check was broken off."""


class Checker:
    """A schema that can be used; it holds no reference to what it checks and serves all threads."""

    def __init__(self, schema: JsonSchema) -> None:
        """Raises `InvalidToolSchema` with the place, a JSON pointer into the schema."""
        draft = _draft_of(schema)
        _check_form(draft, schema)
        # The dialect is settled: a reference to the root must not look it up again.
        bare = _without_dialect(schema)
        self._max_name_chars = sys.maxsize
        for place in places(bare):
            self._check_place(place)
        registry: Registry[Any] = Registry()
        self._validator: Validator = _bounded(draft)(bare, registry=registry)
        self._try_out()

    def first(self, value: Json) -> str | None:
        """Return the first violation, `<JSON pointer>: <reason>`, or None; never the value."""
        if _longest_name(value) > self._max_name_chars:
            return "/: a field name is too long to be checked"
        steps = _STEPS.set(iter(range(MAX_STEPS)))
        try:
            errors = itertools.islice(self._validator.iter_errors(value), MAX_ERRORS)
            return min(map(violation, errors), default=None)
        except (_TooMuchWork, RecursionError, ArithmeticError):
            return "/: too much work to check"
        except Unresolvable:
            return "/: the schema refers to something that is not there"
        finally:
            _STEPS.reset(steps)

    def _check_place(self, place: Place) -> None:
        where = pointer(place.path)
        if "$schema" in place.schema:
            raise InvalidToolSchema(f"{where}: only the root of a schema names its draft")
        for pattern in place.patterns():
            if (reason := refusal(pattern)) is not None:
                raise InvalidToolSchema(f"{where}: {reason}")
        for pattern in place.name_patterns():
            self._max_name_chars = min(self._max_name_chars, max_subject_chars(pattern))

    def _try_out(self) -> None:
        """Run into references that lead nowhere or round in circles now, not at the first call."""
        samples: tuple[Json, ...] = ({}, [], "", 0, None)
        for sample in samples:
            steps = _STEPS.set(iter(range(MAX_TRIAL_STEPS)))
            try:
                for _ in itertools.islice(self._validator.iter_errors(sample), MAX_ERRORS):
                    pass
            except Unresolvable as error:
                raise InvalidToolSchema(f"/: {_shown(error.ref)} leads nowhere") from None
            except (_TooMuchWork, RecursionError):
                raise InvalidToolSchema("/: its references go round in circles") from None
            finally:
                _STEPS.reset(steps)


def _draft_of(schema: JsonSchema) -> type[Validator]:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if named is None:
        return Draft202012Validator
    key = str(named).removeprefix("http://").removeprefix("https://").removesuffix("#")
    if key not in _DRAFTS:
        raise InvalidToolSchema("/$schema: this draft of JSON Schema is not known")
    return _DRAFTS[key]


def _check_form(draft: type[Validator], schema: JsonSchema) -> None:
    checkable: Any = schema  # booleans are schemas too
    try:
        draft.check_schema(checkable)
    except SchemaError as error:
        raise InvalidToolSchema(violation(error)) from None
    except (RecursionError, ArithmeticError):
        raise InvalidToolSchema("/: the schema is nested too deeply") from None


def _without_dialect(schema: JsonSchema) -> JsonSchema:
    if isinstance(schema, bool):
        return schema
    return {key: value for key, value in schema.items() if key != "$schema"}


@functools.cache
def _bounded(draft: type[Validator]) -> Any:
    """Return the draft's class with every keyword counted, and with searches that end."""
    keywords = dict(draft.VALIDATORS) | {"pattern": _pattern, "uniqueItems": _unique_items}
    create: Any = extend  # it ships no types
    return create(draft, {name: _counted(check) for name, check in keywords.items()})


def _counted(check: Any) -> Any:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if next(_STEPS.get(), None) is None:
            raise _TooMuchWork
        return check(validator, value, instance, schema)

    return counted


def _pattern(
    validator: Any, pattern: str, instance: Any, _schema: Any
) -> Iterable[ValidationError]:
    """Search `instance`, but only as far as that cannot take for ever."""
    if not validator.is_type(instance, "string"):
        return
    limit = max_subject_chars(pattern)
    if len(instance) > limit:
        yield ValidationError("too long", validator="maxLength", validator_value=limit)
    elif not re.search(pattern, instance):
        yield ValidationError("no match")


def _unique_items(
    validator: Any, wanted: Any, instance: Any, _schema: Any
) -> Iterable[ValidationError]:
    """Compare by hash: the library compares each object with each."""
    if wanted and validator.is_type(instance, "array"):
        seen = {_hashable(item) for item in instance}
        if len(seen) < len(instance):
            yield ValidationError("an item twice")


def _hashable(value: Json) -> object:
    """Return what equals another exactly where the JSON values are equal (1 and 1.0, not true)."""
    match value:
        case bool():
            return (bool, value)
        case list():
            return (list, *map(_hashable, value))
        case dict():
            return frozenset((name, _hashable(inner)) for name, inner in value.items())
        case _:
            return value


def _longest_name(value: Json) -> int:
    longest, waiting = 0, [value]
    while waiting:
        match waiting.pop():
            case dict() as fields:
                longest = max(longest, *map(len, fields), 0)
                waiting.extend(fields.values())
            case list() as items:
                waiting.extend(items)
    return longest


def _shown(reference: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in reference[:100])
