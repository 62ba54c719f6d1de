"""The published descriptions as a judge: whether an answer or a frame is one that they describe."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import reference

DOCS = Path(__file__).parents[1] / "docs"
HTTP = "urn:everturn:http"
WEBSOCKET = "urn:everturn:websocket"
PROTOCOL = "urn:everturn:protocol"
EVENT_STREAM = "text/event-stream"

_EXTEND: Any = extend  # it has no types


class Undescribed(AssertionError):
    """Something crossed the wire that the published descriptions do not have."""


@lru_cache
def described(name: str) -> dict[str, Any]:
    """Return one of the published files."""
    page: dict[str, Any] = json.loads((DOCS / name).read_text())
    return page


def one_of(
    validator: Any, members: list[Any], instance: Any, schema: dict[str, Any]
) -> Iterator[ValidationError]:
    """Follow a tag to the one member that it names; without one, `oneOf` as it always is."""
    about = schema.get("discriminator", {})
    tag = instance.get(about.get("propertyName")) if isinstance(instance, dict) else None
    if not about:
        yield from Draft202012Validator.VALIDATORS["oneOf"](validator, members, instance, schema)
    elif tag in about["mapping"]:
        yield from validator.descend(instance, {"$ref": about["mapping"][tag]})
    else:
        yield ValidationError(f"{tag!r} is none of {sorted(about['mapping'])}")


@lru_cache
def _registry() -> Registry[Any]:
    pages = (
        (HTTP, "openapi.json"),
        (WEBSOCKET, "websocket.schema.json"),
        (PROTOCOL, "protocol.schema.json"),
    )
    return Registry().with_resources(
        (urn, DRAFT202012.create_resource(described(name))) for urn, name in pages
    )


@lru_cache(maxsize=1024)
def validator(urn: str, pointer: str) -> Validator:
    """Return the validator of one schema in one of the files."""
    kind: type[Validator] = _EXTEND(Draft202012Validator, {"oneOf": one_of})
    return kind({"$ref": f"{urn}#{pointer}"}, registry=_registry())


def complaints(urn: str, pointer: str, value: Any) -> list[str]:
    """Return what does not fit a schema, deepest first; nothing where all does."""
    found = sorted(validator(urn, pointer).iter_errors(value), key=lambda one: -len(one.path))
    return [f"{one.json_path}: {one.message[:300]}" for one in found]


def check_answer(method: str, path: str, status: int, media: str, body: str | bytes) -> None:
    """Accept an answer of the HTTP API that its operation describes. Raises `Undescribed`.

    An answer to a path or a method that there is not has an error's body.
    """
    template = _template(method, path)
    if template is None:
        _accept(HTTP, "/components/schemas/ErrorBody", json.loads(body), f"{method} {path}")
        return
    what = f"{method} {template} answered {status}"
    responses = described("openapi.json")["paths"][template][method.lower()]["responses"]
    if str(status) not in responses:
        raise Undescribed(f"{what}; it may be {sorted(responses)}: {body[:300]!r}")
    response, pointer = responses[str(status)], _pointer(template, method, status)
    if "$ref" in response:
        pointer = response["$ref"].removeprefix("#")
        response = described("openapi.json")["components"]["responses"][pointer.split("/")[-1]]
    media = media.partition(";")[0] if body else ""
    if media not in response.get("content", {"": None}):
        raise Undescribed(f"{what} as {media or 'nothing'}")
    if media == EVENT_STREAM:
        text = body.decode() if isinstance(body, bytes) else body
        check_stream(text, of_run=template.startswith("/api/"))
    elif media:
        _accept(HTTP, f"{pointer}/content/{_escaped(media)}/schema", json.loads(body), what)


def check_stream(text: str, *, of_run: bool = False) -> None:
    """Accept the text of an event stream, of a session or of a run. Raises `Undescribed`."""
    for block in filter(None, text.split("\n\n")):
        fields = dict(line.partition(": ")[::2] for line in block.split("\n"))
        if "event" in fields:
            data = json.loads(fields["data"])
            kind = "RunFrameView" if of_run else _kind_of(fields["event"])
            _accept(HTTP, f"/components/schemas/{kind}", data, f"frame {fields['event']}")
        elif "retry" not in fields and "" not in fields:
            raise Undescribed(f"a stream said {block[:300]!r}")


def _kind_of(event: str) -> str:
    return "TokenDelta" if event == "llm.token.delta" else "EventEnvelope"


def check_frame(frame: Any) -> None:
    """Accept a frame that the WebSocket API sent. Raises `Undescribed`."""
    _accept(WEBSOCKET, "/$defs/ServerFrame", frame, f"frame {frame.get('type')}")


def check_question(request: Any) -> None:
    """Accept a decision request, by our description and by the reference. Raises `Undescribed`."""
    what = f"question {request.get('trigger', {}).get('type')}"
    _accept(PROTOCOL, "/$defs/DecisionRequest", request, what)
    if request["trigger"]["type"] in reference.OUR_TRIGGERS:
        return
    if wrong := reference.complaints("DecisionRequest", request):
        raise Undescribed("\n".join([f"{what}, by the reference", *wrong[:5]]))


def check_response(response: Any) -> None:
    """Accept a decision response that our description has. Raises `Undescribed`."""
    _accept(PROTOCOL, "/$defs/DecisionResponse", response, "response")


def _accept(urn: str, pointer: str, value: Any, what: str) -> None:
    if wrong := complaints(urn, pointer, value):
        raise Undescribed("\n".join([what, *wrong[:5]]))


def _template(method: str, path: str) -> str | None:
    """Return the described path, the more literal one first."""
    paths = described("openapi.json")["paths"]
    for template in sorted(paths, key=lambda one: one.count("{")):
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path) and method.lower() in paths[template]:
            return str(template)
    return None


def _pointer(template: str, method: str, status: int) -> str:
    return f"/paths/{_escaped(template)}/{method.lower()}/responses/{status}"


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
