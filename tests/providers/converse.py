"""What Amazon Bedrock's `ConverseStream` takes, by the description that botocore ships.

botocore itself looks at types and required members only; lengths, patterns and enumerations, which
Bedrock checks, are read from the same description here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StringShape, StructureShape
from botocore.validate import ParamValidator


@cache
def service_model() -> ServiceModel:
    """Return the description of bedrock-runtime."""
    described = Loader().load_service_model("bedrock-runtime", "service-2")
    return ServiceModel(described, "bedrock-runtime")


def refusals_of_converse(parameters: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the parameters of `converse_stream`; none if they are taken."""
    shape = service_model().shape_for("ConverseStreamRequest")
    report = ParamValidator().validate(dict(parameters), shape)
    if report.has_errors():
        return str(report.generate_report()).splitlines()
    return list(_narrower(parameters, shape, ""))


def _narrower(value: Any, shape: Shape, where: str) -> Iterator[str]:
    """Yield what the description forbids and botocore lets through."""
    match shape:
        case StructureShape() if not shape.is_document_type:
            for name, one in value.items():
                yield from _narrower(one, shape.members[name], f"{where}.{name}".lstrip("."))
        case ListShape():
            for number, one in enumerate(value):
                yield from _narrower(one, shape.member, f"{where}.{number}")
        case MapShape():
            for name, one in value.items():
                yield from _narrower(name, shape.key, f"{where}.{name}")
                yield from _narrower(one, shape.value, f"{where}.{name}")
        case StringShape():
            yield from _of_text(value, shape, where)
    most = shape.metadata.get("max")
    if isinstance(shape, ListShape | MapShape | StringShape) and most and len(value) > most:
        yield f"{where}: longer than {most}"


def _of_text(text: str, shape: StringShape, where: str) -> Iterator[str]:
    if shape.enum and text not in shape.enum:
        yield f"{where}: {text!r} is none of {sorted(shape.enum)}"
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern, text, re.DOTALL):
        yield f"{where}: {text!r} does not match {pattern}"
