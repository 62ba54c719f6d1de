"""`agents.yaml`: what is read, what is refused and where, and what a difference is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from everturn_local.agents_file import FileRefused, changes, read_agents


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agents.yaml"


def refusal(file: Path, text: str) -> str:
    """Return why a file is refused, without its folder."""
    file.write_text(text)
    with pytest.raises(FileRefused) as refused:
        read_agents(file)
    return str(refused.value).removeprefix(f"{file}: ")


def test_many_agents_and_single_ones_are_read_in_their_order(file: Path) -> None:
    file.write_text(
        """
agents:
  helper: {model: demo, system: You answer briefly., temperature: null}
  adder:
    model: demo
    tools: [{name: add, effect: read}]
---
agent_id: third
model: demo
---
"""
    )

    agents = read_agents(file)

    assert [one.agent_id for one in agents] == ["helper", "adder", "third"]
    assert agents[0].definition == {"model": "demo", "system": "You answer briefly."}
    assert agents[2].body == {"model": "demo"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("agents:\n  helper: {tools: []}\n", "helper/model: "),
        ("agents:\n  helper: {model: demo, tools: [{name: 'a b'}]}\n", "helper/tools/0/name: "),
        ("agents:\n  helper: {model: demo, colour: red}\n", "helper/colour: "),
        ("agents:\n  helper: 7\n", "helper"),
        ("agents:\n  'a/b': {model: demo}\n", "a/b: is no id"),
        ("agents: {}\n", "has no agents"),
        ("", "has no agents"),
        ("model: demo\n", "a document is"),
        ("agents: {}\nmore: 1\n", "a document is"),
        ("- helper\n", "a document is"),
        ("agents:\n  a: {model: demo}\n  a: {model: demo}\n", "line 3: a stands twice"),
        ("agent_id: a\nmodel: demo\n---\nagent_id: a\nmodel: demo\n", "a: stands twice"),
        ("agents: [\n", "line "),
        ("a: b: c\n", "line 1: "),
    ],
)
def test_what_is_wrong_is_said_with_its_place(file: Path, text: str, why: str) -> None:
    assert refusal(file, text).startswith(why)


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"agents: \xe4")

    for name in ("missing", "latin", "."):
        with pytest.raises(FileRefused):
            read_agents(tmp_path / name)


def test_a_difference_names_fields_and_tools() -> None:
    before = {
        "model": "demo",
        "system": "a",
        "tools": [{"name": "add"}, {"name": "old"}, {"name": "same"}],
    }
    after = {
        "model": "demo",
        "system": "b",
        "stream": True,
        "tools": [{"name": "new"}, {"name": "same"}, {"name": "add", "effect": "read"}],
    }

    assert changes(before, after) == [
        "+stream",
        "~system",
        "~tools.add",
        "+tools.new",
        "-tools.old",
    ]
    assert changes(after, after) == []
    assert changes({"worker": "w"}, {}) == ["-worker"]
