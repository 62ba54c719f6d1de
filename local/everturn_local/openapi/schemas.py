"""Wire models to the JSON Schemas of the published pages, described in the models' own words.

It must not know a route or a frame.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from pydantic import BaseModel, RootModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from everturn.protocol.ids import VALID_ID
from everturn.protocol.limits import MAX_ID_CHARS

Schema = dict[str, Any]

ID_PATTERN: Final = f"^[A-Za-z0-9._:@-]{{1,{MAX_ID_CHARS}}}$"
"""How an id from outside is spelled. Source: everturn.protocol.ids."""

_BOUNDS: Final = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum"}
"""Names of bounds that pydantic leaves as they are where a field has a validator of its own."""

_INNER: Final = ("items", "additionalProperties", "not")
_INNER_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_INNER_MAPS: Final = ("properties", "$defs", "patternProperties")
_SOURCES: Final = re.compile(
    r"\s*\((?:[A-Z]{1,2}-\d+(?:, | to )?|[a-z-]+\.md[ \d]*)+\)"  # (T-3, T-4), (agent-session.md 17)
    r"|\s*(?:Source|Ours): .*$"
)
"""Where a rule is from, which means something inside the repository only."""


class WireSchemas(GenerateJsonSchema):
    """pydantic's generator, with what our models mean.

    An optional field may be left out; that null says the same is told once, not field by field. A
    field with one possible value is a tag, and required.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave titles out: they repeat the names."""
        del schema
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema of a field with a default."""
        inner = schema["schema"]
        if _is_tag(inner):
            return self.generate_inner(inner)
        if schema.get("default", ...) is None:
            return self.generate_inner(inner["schema"] if inner["type"] == "nullable" else inner)
        return super().default_schema(schema)

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Tell whether a field is always there."""
        inner = field["schema"]
        if inner["type"] == "default" and _is_tag(inner["schema"]):
            return True
        return super().field_is_required(field, total)

    def function_after_schema(
        self, schema: core_schema.AfterValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """Return the schema of a checked value, with the spelling of ids."""
        made = super().function_after_schema(schema)
        spelled = schema["function"]["function"] is VALID_ID.func
        return {**made, "pattern": ID_PATTERN} if spelled else made

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of a model, described by its docstrings."""
        made = super().model_schema(schema)
        return described(made, schema["cls"])


def schemas_of(kinds: Mapping[str, Any], ref_template: str) -> tuple[Schema, Schema]:
    """Return the schema of each named type, and the definitions that they refer to.

    `kinds` are models or annotated types; `ref_template` has `{model}` in it.
    """
    keyed: Any = [(name, "validation", TypeAdapter(kind)) for name, kind in kinds.items()]
    made, rest = TypeAdapter.json_schemas(
        keyed, schema_generator=WireSchemas, ref_template=ref_template
    )
    named = {name: cleaned(schema) for (name, _), schema in made.items()}
    definitions = {name: cleaned(schema) for name, schema in rest.get("$defs", {}).items()}
    return named, definitions


def described(schema: Schema, model: type[BaseModel]) -> Schema:
    """Return the schema of `model` with what its docstrings say; titles are left out."""
    fields = model.model_fields
    told = {
        fields[name].alias or name: plain(text)
        for name, text in field_docstrings(model)
        if name in fields
    }
    properties = {
        name: {**one, "description": told[name]} if told.get(name) else one
        for name, one in schema.get("properties", {}).items()
    }
    made = {name: value for name, value in schema.items() if name != "title"}
    if properties:
        made["properties"] = properties
    if model.__doc__:
        made["description"] = plain(model.__doc__)
    return made


def field_docstrings(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a model, inherited ones first, with the strings below them."""
    for one in reversed(model.__mro__):
        is_ours = one is not BaseModel and issubclass(one, BaseModel)
        if is_ours and not issubclass(one, RootModel):  # a root model has no fields
            for statement in ast.parse(textwrap.dedent(inspect.getsource(one))).body:
                if isinstance(statement, ast.ClassDef):
                    yield from _strings_below(statement.body)


def _strings_below(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, text


def plain(docstring: str) -> str:
    """Return a docstring for readers outside the repository: one paragraph, without sources."""
    text = " ".join(inspect.cleandoc(docstring).split())
    return _SOURCES.sub("", text)


def cleaned(schema: Any) -> Any:
    """Return a schema with bounds under their JSON Schema names and one type for numbers."""
    if not isinstance(schema, dict):
        return schema
    made = {_BOUNDS.get(name, name): value for name, value in _inside(schema, cleaned)}
    if made.get("anyOf") == [{"type": "integer"}, {"type": "number"}]:
        del made["anyOf"]
        made["type"] = "number"
    return made


def reachable(roots: Any, definitions: Schema) -> Schema:
    """Return those of the definitions that `roots` refer to, directly or not, sorted by name."""
    found: Schema = {}
    names = list(_referred(roots))
    while names:
        name = names.pop()
        if name not in found:
            found[name] = definitions[name]
            names += _referred(found[name])
    return dict(sorted(found.items()))


def _referred(value: Any) -> Iterator[str]:
    match value:
        case {"$ref": str(ref)}:
            yield ref.rpartition("/")[2]
    match value:
        case dict():
            for one in value.values():
                yield from _referred(one)
        case list():
            for one in value:
                yield from _referred(one)


def _inside(schema: Schema, change: Callable[[Any], Any]) -> Iterable[tuple[str, Any]]:
    """Yield the keywords of a schema, the schemas inside changed."""
    for name, value in schema.items():
        if name in _INNER:
            yield name, change(value)
        elif name in _INNER_LISTS:
            yield name, [change(one) for one in value]
        elif name in _INNER_MAPS:
            yield name, {key: change(one) for key, one in value.items()}
        else:
            yield name, value


def _is_tag(schema: Any) -> bool:
    return schema["type"] == "literal" and len(schema["expected"]) == 1
