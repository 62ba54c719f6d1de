"""What is wrong with a value, in one line for a model to read; the value itself is never quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from jsonschema.exceptions import SchemaError, ValidationError

from everturn.protocol.wire import Json

MAX_SHOWN_CHARS = 200
MAX_PART_CHARS = 64

_BOUNDS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} fields",
    "maxProperties": "must have at most {} fields",
    "pattern": "must match {}",
    "const": "must be {}",
    "enum": "must be one of {}",
}
_PHRASES = {
    "uniqueItems": "must have no item twice",
    "contains": "lacks an item that it must contain",
    "unevaluatedProperties": "has fields that are not allowed",
    "unevaluatedItems": "has items that are not allowed",
    "not": "is what it must not be",
}


Misfit = ValidationError | SchemaError


def violation(error: Misfit) -> str:
    """Return `<JSON pointer>: <reason>`, `/` for the value as a whole."""
    path = list(error.absolute_path)
    wanted: Json = error.validator_value
    instance: Json = error.instance
    match error.validator:
        case "required":
            missing = [name for name in wanted if name not in instance]
            return f"{pointer([*path, *missing[:1]])}: required"
        case "additionalProperties" if wanted is False:
            return f"{pointer([*path, *_extra(error)[:1]])}: not allowed"
        case "anyOf" | "oneOf":
            return f"{pointer(path)}: {_no_form(error)}"
        case _:
            return f"{pointer(path)}: {_reason(error.validator, wanted)}"


def pointer(path: Iterable[str | int]) -> str:
    """Return a JSON pointer with its parts shortened; the root is `/`."""
    return "".join(f"/{_part(str(part))}" for part in path) or "/"


def _reason(keyword: str | Any, wanted: Json) -> str:
    match keyword:
        case "type":
            names = wanted if isinstance(wanted, list) else [wanted]
            return f"must be {' or '.join(map(str, names))}"
        case str() if keyword in _BOUNDS:
            return _BOUNDS[keyword].format(_shown(wanted))
        case str() if keyword in _PHRASES:
            return _PHRASES[keyword]
        case str():
            return f"does not fit {keyword}"
        case _:  # the schema `false`
            return "not allowed"


def _no_form(error: Misfit) -> str:
    """Name what the branch with the fewest complaints lacks."""
    branches = [
        list(errors) for _, errors in groupby(error.context, lambda each: each.schema_path[0])
    ]
    if not branches:
        return "fits more than one form where only one is allowed"
    closest = min(branches, key=len)
    return f"fits none of the allowed forms; closest: {min(map(violation, closest))}"


def _extra(error: Misfit) -> list[str]:
    """Return the names that the schema does not know, sorted."""
    instance: Json = error.instance
    schema: Json = error.schema
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    return sorted(
        name
        for name in instance
        if name not in known and not any(re.search(pattern, name) for pattern in patterns)
    )


def _shown(wanted: Json) -> str:
    if isinstance(wanted, list):
        text = ", ".join(json.dumps(each, ensure_ascii=False) for each in wanted[:50])
    else:
        text = wanted if isinstance(wanted, str) else json.dumps(wanted, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"


def _part(part: str) -> str:
    printable = "".join(char if char.isprintable() else "?" for char in part[:MAX_PART_CHARS])
    return printable.replace("~", "~0").replace("/", "~1")
