"""A function's type hints as a model of its arguments, and as JSON Schemas of both directions.

It must not know a tool's options or a request.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, TypeAdapter, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from everturn.workers.context import Context
from everturn.workers.plain_schema import Schema, plain
from everturn.workers.replies import AskUser, Pending, TaskStarted

_VARIABLE: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_REPLIES: Final = (AskUser, TaskStarted, Pending)
_BYTES: Final = (bytes, bytearray, memoryview)
_EXACT_TYPES: Final = frozenset({"object", "array", "integer", "number", "boolean", "null"})
_MODEL_CONFIG: Final = ConfigDict(
    extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=()
)


class _Generator(GenerateJsonSchema):
    """A default that is no JSON is left out without a warning: the function has it all the same."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.ignored_warning_kinds = {*self.ignored_warning_kinds, "non-serializable-default"}


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameters of a function: a model that reads JSON for them, and where each goes."""

    model: type[BaseModel]
    fields: Mapping[str, str]
    """The model's field to the function's parameter; its alias is the name on the wire."""

    context: str | None
    """The parameter that takes the context."""

    def schema(self) -> Schema:
        """Return the JSON Schema of the arguments: an object, closed.

        Raises `TypeError` for a type that can be read but not described.
        """
        try:
            found = plain(self.model.model_json_schema(schema_generator=_Generator))
        except PydanticUserError as error:
            raise TypeError(f"{self.model.__name__}: {error.message}") from error
        return {"type": "object", "properties": {}, **found}

    def read(self, text: str) -> dict[str, Any]:
        """Return keyword arguments from JSON text. Raises pydantic's `ValidationError`."""
        read = self.model.model_validate_json(text)
        return {name: getattr(read, field) for field, name in self.fields.items()}


def arguments_of(
    function: Callable[..., Any], hints: Mapping[str, Any], descriptions: Mapping[str, str]
) -> Arguments:
    """Return what `function` takes; `descriptions` are those of its docstring.

    Raises `TypeError` for a parameter that JSON cannot give it.
    """
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    context = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in _VARIABLE or parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"{called(function)}: {parameter} cannot be given by name")
        if name not in hints:
            raise TypeError(f"{called(function)}: the parameter {name} needs a type")
        if hints[name] is Context or Context in get_args(hints[name]):
            context = name
            continue
        field = f"argument_{len(names)}"  # whatever the parameter is called, pydantic takes it
        names[field] = name
        fields[field] = _field(name, hints[name], parameter.default, descriptions.get(name))
    try:
        model = create_model(called(function), __config__=_MODEL_CONFIG, **fields)
    except (PydanticUserError, TypeError) as error:
        raise TypeError(f"{called(function)}: its types have no JSON Schema: {error}") from error
    return Arguments(model, names, context)


def _field(name: str, hint: Any, default: Any, described: str | None) -> tuple[Any, Any]:
    """Return a field as `create_model` takes it, with its name on the wire and its description."""
    required = default is inspect.Parameter.empty
    given = (
        FieldInfo.from_annotation(hint)
        if required
        else FieldInfo.from_annotated_attribute(hint, default)
    )
    more: dict[str, Any] = {}
    if not (given.alias or given.validation_alias):
        more["alias"] = name
    if described and not given.description:
        more["description"] = described
    annotated = Annotated[hint, Field(**more)] if more else hint
    return annotated, ... if required else default


def output_schema(adapter: TypeAdapter[Any]) -> Schema | None:
    """Return the JSON Schema of results, or None where their type says too little.

    A type that may be a text at its top says too little: a result that is text is checked as the
    JSON that it may look like. Source: U-9.
    """
    try:
        found = adapter.json_schema(mode="serialization", schema_generator=_Generator)
    except PydanticUserError:
        return None
    schema = plain(found)
    return schema if is_precise(schema, schema.get("$defs", {})) else None


def adapter_of(hints: Mapping[str, Any]) -> TypeAdapter[Any] | None:
    """Return what writes results of the annotated type; None where pydantic knows nothing of it.

    Raises `TypeError` for bytes, and for a `TypedDict` that this Python cannot look into.
    """
    wanted = result_type(hints.get("return", Any))
    if wanted is None:
        return None
    try:
        return TypeAdapter(wanted)
    except PydanticUserError as error:
        if error.code == "typed-dict-version":
            raise TypeError(str(error)) from error
        return None


def result_type(hint: Any) -> Any:
    """Return `hint` without the replies; None where nothing is left or nothing is said.

    Raises `TypeError` for bytes, which are no JSON.
    """
    if hint in _BYTES:
        raise TypeError("a tool returns JSON, not bytes: return text, or a reference to a file")
    if hint in (None, type(None), Any, object) or hint in _REPLIES:
        return None
    if get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    left = tuple(one for one in get_args(hint) if one not in _REPLIES)
    return typing.Union[left] if left and left != (type(None),) else None  # noqa: UP007


def is_precise(schema: Schema, definitions: Mapping[str, Schema]) -> bool:
    """Tell whether a schema says more than "JSON", and rules out text at the top."""
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        return all(is_precise(one, definitions) for one in alternatives)
    match schema:
        case {"$ref": str() as ref}:
            return is_precise(definitions[ref.rpartition("/")[2]], {})
        case {"type": "object"}:
            return bool(schema.get("properties")) or schema.get(
                "additionalProperties", True
            ) not in (True, {})
        case {"type": "array"}:
            return bool(schema.get("items") or schema.get("prefixItems"))
        case {"type": str() as kind}:
            return kind in _EXACT_TYPES
        case _:
            return False


def hints_of(function: Callable[..., Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the evaluated annotations of `function`; `names` are those around it.

    Raises `TypeError` for an annotation that names what is not there.
    """
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(target, localns=dict(names), include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{called(function)}: {error.name} in its annotations is not known where it is "
            "registered; define or import it above"
        ) from error


def called(function: Callable[..., Any]) -> str:
    """Return what a function is called."""
    return getattr(function, "__name__", type(function).__name__)
