"""A function's docstring as what a model reads: its text, and a line for each parameter.

Google style, section "Functions and Methods": other sections are for people and are left out.
"""

from __future__ import annotations

import re

_SECTION = re.compile(
    r"(?:args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|"
    r"attributes|see also|todo|warnings?|references|source):\s*"
)
_PARAMETERS = re.compile(r"(?:args|arguments|parameters|params):\s*")
_PARAMETER = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)")


def described(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first section, and what `Args` says of each parameter.

    `docstring` is as `inspect.getdoc` gives it: without the indentation of its function.
    """
    text: list[str] = []
    parameters: list[str] = []
    into: list[str] | None = text
    for line in docstring.expandtabs().splitlines():
        if _SECTION.fullmatch(line.lower()):
            into = parameters if _PARAMETERS.fullmatch(line.lower()) else None
        elif into is parameters and line and not line.startswith(" "):
            into = None  # text at the margin ends a section
        elif into is not None:
            into.append(line)
    return "\n".join(text).strip(), _parameters(parameters)


def _parameters(lines: list[str]) -> dict[str, str]:
    """Return the entries of one section: a line at its margin begins one, deeper ones go on."""
    margin = min((_indent(line) for line in lines if line.strip()), default=0)
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        begins = _PARAMETER.fullmatch(line.strip()) if _indent(line) == margin else None
        if begins:
            name = begins["name"]
            found[name] = [begins["text"]]
        elif name and line.strip():
            found[name].append(line.strip())
    return {name: " ".join(parts).strip() for name, parts in found.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
