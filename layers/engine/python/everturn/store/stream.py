"""A record of the table's stream, as Lambda delivers it -> the commit that it shows."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from everturn.ports.sessions import Logged, SessionKey
from everturn.store import keys
from everturn.store.attributes import Item
from everturn.store.bodies import Load
from everturn.store.codec import from_log_item


def from_image(image: Mapping[str, Any], load: Load) -> tuple[SessionKey, Logged]:
    """Return the commit of a `LOG#` item's new image; in an event's JSON binary values are base64.

    `load` is the bucket's `get`: one request for a commit that was spilled as a whole, else none.
    Raises `NewerFormat`. Source: Lambda, "Using AWS Lambda with Amazon DynamoDB".
    """
    item: Item = {
        name: {"B": b64decode(attribute["B"])} if "B" in attribute else attribute
        for name, attribute in image.items()
    }
    return keys.session_of(item["pk"]["S"]), from_log_item(item, load)
