"""Official request types, made strict: no unknown key, no coercion, nothing left unread.

It must not know a provider.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import ErrorDetails, SchemaValidator, ValidationError

Loc = tuple[int | str, ...]

TAGS: Final = {"type", "role"}
"""What tells the members of a union apart."""

TAG_ERRORS: Final = {"literal_error", "missing"}
OPAQUE: Final = {"metadata", "expected", "default"}
"""Parts of a core schema that hold no schemas."""

FIELDS: Final = {"typed-dict-field", "model-field"}


def strict_validator(official: Any) -> SchemaValidator:
    """Return what validates bodies in JSON against an official type, more strictly than it does."""
    return SchemaValidator(_strict(TypeAdapter(official).core_schema))


def refusals(validator: SchemaValidator, body: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a body, `place: sentence` each; none if it would be taken.

    Of the members of a union only those are heard whose tag fits.
    """
    try:
        validator.validate_json(json.dumps(body, allow_nan=False), strict=True)
    except ValidationError as error:
        heard = _heard(error.errors(include_url=False, include_context=False), body)
        return list(dict.fromkeys(f"{place(one, body)}: {one['msg']}" for one in heard))
    return []


def place(error: ErrorDetails, body: Any) -> str:
    """Return where in a body an error is: its location without the names of types."""
    at, steps = body, list[str]()
    for step in error["loc"]:
        here = isinstance(at, list) if isinstance(step, int) else isinstance(at, Mapping)
        if here and (isinstance(step, int) or step in at):
            at = at[step]
            steps.append(str(step))
    if error["type"] == "missing":
        steps.append(str(error["loc"][-1]))
    return ".".join(steps)


def _strict(schema: Any) -> Any:
    """Return a core schema whose objects know their keys and whose iterables are read."""
    if isinstance(schema, list | tuple):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    walked = {key: one if _is_opaque(key, one) else _strict(one) for key, one in schema.items()}
    match walked.get("type"):
        case "generator":
            walked["type"] = "list"
        case "typed-dict" | "model-fields" if "extras_schema" not in walked:
            walked["extra_behavior"] = "forbid"
        case "model":  # clients take answers for questions; a built model would be let be as it is
            return {**walked["schema"], **{k: walked[k] for k in ("ref",) if k in walked}}
    return walked


def _is_opaque(key: str, value: Any) -> bool:
    """Return whether there is no schema below; a field may have such a name as well."""
    return key in OPAQUE and not (isinstance(value, dict) and str(value.get("type")) in FIELDS)


def _heard(errors: Sequence[ErrorDetails], body: Any) -> list[ErrorDetails]:
    """Return the errors without those of union members that were not meant."""
    tags = [one for one in errors if one["type"] in TAG_ERRORS and one["loc"][-1] in TAGS]
    wrong = {one["loc"][:-1] for one in tags if len(one["loc"]) > 1}
    heard = [one for one in errors if not _below(one["loc"], wrong)]
    unheard = [
        one
        for one in tags
        if not _below(one["loc"][:-2], wrong)
        and not any(f"{place(other, body)}.".startswith(_object(one, body)) for other in heard)
    ]
    found = [*heard, *unheard]
    return [one for one in found if not _is_elsewhere(one, found, body)]


def _is_elsewhere(error: ErrorDetails, errors: Iterable[ErrorDetails], body: Any) -> bool:
    """Return whether a value of this other type was not meant: what was meant fails further in."""
    within = f"{place(error, body)}."
    return error["type"].endswith("_type") and any(
        place(one, body).startswith(within) for one in errors
    )


def _object(error: ErrorDetails, body: Any) -> str:
    """Return the place of the object that an error's key is in, with a dot unless it is all."""
    return "".join(place(error, body).rpartition(".")[:2])


def _below(loc: Loc, prefixes: Iterable[Loc]) -> bool:
    return any(loc[: len(prefix)] == prefix for prefix in prefixes)
