"""`agents.yaml`: one agent or many, read and checked before anything is sent anywhere.

It must not know an API.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from everturn.errors import RejectedError
from everturn.protocol.agent import read_agent
from everturn.protocol.ids import is_id
from everturn.protocol.wire import to_json


class FileRefused(Exception):
    """The file is not what it must be; the message begins with the place."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An agent as a file has it."""

    agent_id: str
    body: Mapping[str, Any]
    """What is sent."""

    definition: Mapping[str, Any]
    """The same as the API shows it."""


class _Strict(yaml.SafeLoader):
    """Refuses a key that stands twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return the mapping. Raises `FileRefused`."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise FileRefused(f"line {line}: {key} stands twice in one mapping")
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def read_agents(path: Path) -> list[Wanted]:
    """Return the agents of a file, in its order. Raises `FileRefused`.

    A document is `agents: {<agent_id>: <definition>}`, or one definition with `agent_id`.
    """
    try:
        documents = [
            one
            for one in yaml.load_all(path.read_text(), Loader=_Strict)  # a safe one
            if one is not None
        ]
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileRefused(f"{path}: is no text in UTF-8") from error
    except yaml.YAMLError as error:
        raise FileRefused(f"{path}: {_where(error)}") from error
    except FileRefused as error:
        raise FileRefused(f"{path}: {error}") from error
    found: dict[str, Wanted] = {}
    for document in documents:
        for agent_id, body in _named(path, document):
            if agent_id in found:
                raise FileRefused(f"{path}: {agent_id}: stands twice")
            found[agent_id] = _checked(path, agent_id, body)
    if not found:
        raise FileRefused(f"{path}: has no agents")
    return [*found.values()]


def _where(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "is no YAML"
    return f"line {mark.line + 1}: {problem}" if mark else problem


def _named(path: Path, document: Any) -> Iterator[tuple[str, Any]]:
    match document:
        case {"agents": Mapping() as agents, **rest} if not rest:
            yield from ((str(name), body) for name, body in agents.items())
        case {"agent_id": str(agent_id), **body}:
            yield agent_id, body
        case _:
            raise FileRefused(
                f"{path}: a document is `agents:` with a definition under each id, or one "
                "definition with `agent_id`"
            )


def _checked(path: Path, agent_id: str, body: Any) -> Wanted:
    if not is_id(agent_id):
        raise FileRefused(f"{path}: {agent_id}: is no id: 1 to 200 of A-Z a-z 0-9 . _ : @ -")
    try:
        definition = to_json(read_agent(body))
    except RejectedError as error:
        raise FileRefused(f"{path}: {agent_id}{_spaced(error.message)}") from error
    return Wanted(agent_id, body, definition)


def _spaced(message: str) -> str:
    """Return a refusal behind the agent's name; one that has a path goes on with it."""
    return message if message.startswith("/") else f": {message}"


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the names of what differs: `+` is new, `-` is gone, `~` has changed."""
    found = [*_differences("", before, after, without={"tools"})]
    old, new = ({tool["name"]: tool for tool in one.get("tools") or ()} for one in (before, after))
    return [*found, *_differences("tools.", old, new)]


def _differences(
    prefix: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    without: frozenset[str] | set[str] = frozenset(),
) -> Iterator[str]:
    for name in sorted((before.keys() | after.keys()) - without):
        if name not in before:
            yield f"+{prefix}{name}"
        elif name not in after:
            yield f"-{prefix}{name}"
        elif before[name] != after[name]:
            yield f"~{prefix}{name}"
