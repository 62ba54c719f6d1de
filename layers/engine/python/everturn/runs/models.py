"""What a caller is told of a model that is not there: those that are called nearly so."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from everturn.protocol.limits import MAX_MODEL_ID_CHARS
from everturn.rejections import InvalidModel

MAX_CANDIDATES: Final = 5


def candidates(wanted: str, known: Iterable[str]) -> list[str]:
    """Return the ids among `known` that are most like `wanted`, the closest first, up to five.

    An id counts with and without its provider.
    """
    short = wanted[:MAX_MODEL_ID_CHARS].lower()
    matcher = SequenceMatcher(b=short, autojunk=False)

    def likeness(model: str) -> float:
        found = 0.0
        for spelled in (model, model.partition(":")[2]):
            matcher.set_seq1(spelled.lower())
            found = max(found, matcher.ratio())
        return found

    return sorted(dict.fromkeys(known), key=lambda model: (-likeness(model), model))[
        :MAX_CANDIDATES
    ]


def no_model(wanted: str, known: Iterable[str], at: str = "/modelId") -> InvalidModel:
    """Return the error for a model that none of `known` is; `at` is the field that named it."""
    return InvalidModel(
        f"{at}: there is no model {wanted[:MAX_MODEL_ID_CHARS]}",
        candidates=candidates(wanted, known),
    )
