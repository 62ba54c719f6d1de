"""What all models of the agent runs API share: camel-cased names, tolerance, and how a no is said.

It must not know a field of any body.
"""

from typing import Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from everturn.protocol.wire import Json, WireModel, first_problem
from everturn.rejections import InvalidRequest

T = TypeVar("T")

FLAG: Final = "flag"
OBJECT: Final = "object"
WORD: Final = "word"


class RunsModel(WireModel):
    """A part of a body; what it does not know it keeps, since clients are newer than documents."""

    # Only reading makes these, and it goes by the aliases.
    model_config = ConfigDict(  # type: ignore[pydantic-alias]
        extra="allow", alias_generator=to_camel, serialize_by_alias=True
    )


def read(adapter: TypeAdapter[T], data: Json, at: str = "") -> T:
    """Return `data` as the adapter's type; `at` begins every path. Raises `InvalidRequest`."""
    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        raise InvalidRequest(at + first_problem(error, data).sentence) from None


def form(value: object) -> str | None:
    """Return which sort of JSON value something is, of those that one field may choose among."""
    match value:
        case bool():
            return FLAG
        case dict() | RunsModel():
            return OBJECT
        case str():
            return WORD
        case _:
            return None


def size_bytes(text: str) -> int:
    """Return how long a text is in UTF-8; half a surrogate pair counts as three bytes."""
    return len(text.encode("utf-8", "surrogatepass"))
