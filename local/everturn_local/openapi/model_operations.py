"""What the operation on models gives."""

from __future__ import annotations

from typing import Final

from everturn.protocol.models import ModelsView
from everturn_local.openapi import examples
from everturn_local.openapi.shape import Answer, Spoken

MODEL_OPERATIONS: Final[dict[str, Spoken]] = {
    "list_models": Spoken(
        "List models",
        "What an agent of the tenant may name as its model: models with what is known of them, "
        "providers, aliases. A model that is not listed may be named all the same.",
        (Answer(200, "The models.", ModelsView, examples.MODELS),),
    ),
}
