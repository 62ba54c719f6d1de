"""JSON text in and out: strict where it is read, one spelling where it is hashed.

It must not know any model; what the values mean is other modules' business.
"""

import json
import math
import re
from typing import NoReturn

from everturn.protocol.limits import MAX_JSON_DEPTH
from everturn.protocol.wire import Json
from everturn.rejections import InvalidJson

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(text: bytes | str) -> Json:
    """Return the value of one JSON text in UTF-8: lossless, or refused.

    Refused are invalid UTF-8, a byte order mark, NaN and Infinity, numbers that a float or 4300
    digits cannot hold, a key twice in one object, lone surrogates, more than `MAX_JSON_DEPTH`
    containers inside each other and anything after the value. `-0` becomes 0, `-0.0` becomes 0.0.

    Raises `InvalidJson` and nothing else. Source: session-log.md LG-4, decision protocol M-8.
    """
    source = _decoded(text)
    try:
        value = json.loads(
            source, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float
        )
    except json.JSONDecodeError as error:
        raise InvalidJson(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise InvalidJson("a number has more digits than can be kept") from None
    if source.count("[") + source.count("{") > MAX_JSON_DEPTH and _deeper_than_allowed(value):
        raise _too_deep()
    if _SURROGATE_ESCAPE.search(source):
        _check_unicode(compact(value))
    return value


def canonical(value: Json) -> bytes:
    """Return the one spelling of `value`: keys sorted by code point, compact, UTF-8.

    Raises `InvalidJson` where `value` is not JSON or not lossless.
    """
    return _written(value, sort_keys=True).encode()


def compact(value: Json) -> str:
    """Return `value` without spaces, keys in their order.

    Raises `InvalidJson` where `value` is not JSON or not lossless.
    """
    return _written(value, sort_keys=False)


def _written(value: Json, *, sort_keys: bool) -> str:
    try:
        text = json.dumps(
            value, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except (TypeError, ValueError, RecursionError):
        raise InvalidJson("the value is not lossless JSON") from None
    _check_unicode(text)
    return text


def _decoded(text: bytes | str) -> str:
    if isinstance(text, str):
        _check_unicode(text)
        return text
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InvalidJson(f"not UTF-8 at byte {error.start}") from None


def _check_unicode(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidJson("half a surrogate pair is no character") from None


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidJson("an object has the same key twice")
    return result


def _constant(_name: str) -> NoReturn:
    raise InvalidJson("NaN and Infinity are no JSON")


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidJson("a number is out of range")
    return value + 0.0  # -0.0 + 0.0 is 0.0


def _too_deep() -> InvalidJson:
    return InvalidJson(f"more than {MAX_JSON_DEPTH} containers inside each other")


def _deeper_than_allowed(value: Json) -> bool:
    """Return whether containers nest deeper than allowed, level by level, without recursion."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return False
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return True
