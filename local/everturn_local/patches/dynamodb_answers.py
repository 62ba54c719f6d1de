"""Answers that look only for the type which an attribute has. What they say is left to moto.

Upstream gap (moto 5.2.5): every attribute of every item is searched for all ten types, each under
several names: half of a GetItem's time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.core.serialize import JSONSerializer

from everturn_local.patches.replacing import replaced

ATTRIBUTE = "AttributeValue"
"""The shape of a typed value, in tables and in their streams."""


@contextmanager
def dynamodb_answers() -> Iterator[None]:
    """Make the serializer go through the types that are there instead of all that there may be."""
    search = JSONSerializer._serialize_type_structure

    def serialize(self: JSONSerializer, into: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name != ATTRIBUTE or not isinstance(value, dict):
            search(self, into, value, shape, key)
            return
        there: dict[str, Any] = {}
        for kind in value.keys() & shape.members.keys():
            self._serialize(there, value[kind], shape.members[kind], kind)
        self._default_serialize(into, there, shape, key)

    with replaced(JSONSerializer, "_serialize_type_structure", serialize):
        yield
