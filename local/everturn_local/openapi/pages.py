"""The files of the published descriptions: where they are and what they hold."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from everturn_local.openapi.decisions import decisions_schema
from everturn_local.openapi.document import document
from everturn_local.openapi.frames import frames_schema

ROOT: Final = Path(__file__).resolve().parents[3]


def pages() -> dict[Path, str]:
    """Return the text of each file by its path."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    made = {
        "openapi.json": document(version),
        "websocket.schema.json": frames_schema(version),
        "protocol.schema.json": decisions_schema(version),
    }
    return {
        ROOT / "docs" / name: json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
        for name, schema in made.items()
    }


def stale_pages(made: Mapping[Path, str]) -> list[Path]:
    """Return the files that are not what was made for them."""
    return [path for path, text in made.items() if not path.exists() or path.read_text() != text]


def write_pages() -> list[Path]:
    """Write the files that are stale; return which those were."""
    made = pages()
    stale = stale_pages(made)
    for path in stale:
        path.write_text(made[path])
    return stale
