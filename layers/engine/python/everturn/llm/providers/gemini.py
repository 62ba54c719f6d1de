"""Gemini's API, `generateContent` streamed: requests out; sends nothing itself.

A wish for one call at a time (`parallel_tool_calls` false) has no place there and is left out.
Source: Gemini API reference, v1beta, "Generating content".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from everturn.llm.formats.anthropic import BUDGETS
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.gemini_contents import text_of, to_contents
from everturn.llm.providers.gemini_reader import PROVIDER, AnswerReader
from everturn.llm.providers.gemini_replay import Part, said_parts
from everturn.llm.providers.gemini_schema import gemini_schema
from everturn.llm.providers.http_model import Asked, Encoded, key_of
from everturn.llm.providers.media import unsupported
from everturn.llm.providers.names import to_call_id
from everturn.llm.providers.replays import replayed
from everturn.llm.providers.schemas import object_schema
from everturn.llm.providers.shape import Shaped, shaped

BASE_URL: Final = "https://generativelanguage.googleapis.com/v1beta"
FINAL_REPORT: Final = "set_model_response"
"""Takes a structured answer where tools leave no other place for one.

Source: runs document, section 7.
"""

FINAL_TOLD: Final = "Takes the final answer, all of it, once nothing else is left to do."
FINAL_SYSTEM: Final = (
    f"[Everturn] Give the final answer by calling {FINAL_REPORT} once; never give it as text."
)
MAX_STOP_SEQUENCES: Final = 5
"""Source: Gemini API, GenerationConfig, `stopSequences`."""

_VERSIONED: Final = re.compile(r"gemini-(\d{1,3})(?:\.(\d{1,3}))?(?![0-9])")
_NEWEST: Final = (999, 0)
"""Of `gemini-flash-latest` and the like."""

_LEVELS_FROM: Final = (3, 0)
"""From here on a model is told a level of thinking, demands signatures, and takes a schema for its
answer beside tools."""

_BUDGETS_FROM: Final = (2, 5)
_NO_MINIMUM_FROM: Final = (3, 6)
"""From here on no model is known to take the lowest level; before, the small ones did."""

_NO_TEMPERATURE_FROM: Final = (4, 0)
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_LEVELS: Final = {"low": "LOW", "medium": "MEDIUM", "high": "HIGH", "xhigh": "HIGH"}
_RANGES: Final = {"pro": (128, 32768), "flash-lite": (512, 24576), "flash": (1, 24576)}
"""Least and most that a model of 2.5 thinks, where it does. Source: "Thinking", budgets."""


class GeminiWire:
    """`Wire` of generativelanguage.googleapis.com."""

    provider = PROVIDER

    def encode(self, asked: Asked) -> Encoded:
        """Return the request: one POST to `models/{model}:streamGenerateContent`."""
        beside, request = asked.beside, asked.request
        model = str(request["model"]).removeprefix("models/")
        final_tool = FINAL_REPORT if _needs_final_tool(request, model) else None
        shape = shaped(request, takes_turns=True, reserved=final_tool or "")
        reasoning = request.get("reasoning") or {}
        body: dict[str, Any] = {
            **_system(shape, final_tool),
            **_tools(shape, request, final_tool),
            "contents": to_contents(
                shape.messages,
                frozenset(map(to_call_id, asked.failed)),
                _said(asked, shape),
                signs=version_of(model) >= _LEVELS_FROM,
            ),
        }
        if config := _generation(asked, model, has_final_tool=final_tool is not None):
            body["generationConfig"] = config
        return Encoded(
            url=f"{beside.account.base_url or BASE_URL}/models/{quote(model, safe='')}"
            ":streamGenerateContent?alt=sse",
            headers={"x-goog-api-key": key_of(beside, self.provider)},
            body=body,
            reader=AnswerReader(
                Blocks(
                    shape.names,
                    final_tool=final_tool,
                    shows_reasoning=not reasoning.get("exclude"),
                ),
                final_tool=final_tool,
            ),
        )


def version_of(model: str) -> tuple[int, int]:
    """Return the version in a model's id, (0, 0) where it is none of Gemini's numbered ones."""
    found = _VERSIONED.search(model)
    if found:
        return int(found[1]), int(found[2] or 0)
    return _NEWEST if "gemini" in model and model.endswith("-latest") else (0, 0)


def _needs_final_tool(request: Mapping[str, Any], model: str) -> bool:
    """Source: runs document, section 7."""
    has_both = bool(request.get("output_schema") and request.get("tools"))
    return has_both and version_of(model) < _LEVELS_FROM


def _said(asked: Asked, shape: Shaped) -> dict[str, list[Part]]:
    """Return messages as the model said them, by id, blanks included."""
    contents = {one.get("id"): one.get("content") for one in asked.request["messages"]}
    calls = {one.get("id"): one.get("tool_calls") or () for one in shape.messages}
    found: dict[str, list[Part]] = {}
    for said in replayed(shape.messages, asked.beside.replays, asked.request["model"]):
        content = contents[said.message_id]
        parts = said_parts(said, text_of(content), calls[said.message_id])
        if parts:
            found[said.message_id] = parts
    return found


def _system(shape: Shaped, final_tool: str | None) -> dict[str, Any]:
    """Raises `ModelFailed` for what is no text."""
    said = [one.get("content") for one in shape.messages if one["role"] == "system"]
    parts = [part for content in said if isinstance(content, list) for part in content]
    if odd := next((part["type"] for part in parts if part["type"] != "text"), None):
        raise unsupported(f"{odd} of a system message", PROVIDER)
    told = [*map(text_of, said)]
    told += [FINAL_SYSTEM] if final_tool else []
    return {"systemInstruction": {"parts": [{"text": "\n\n".join(told)}]}} if told else {}


def _tools(shape: Shaped, request: Mapping[str, Any], final_tool: str | None) -> dict[str, Any]:
    """Return the tools and how they may be used."""
    declared = [
        _declared(tool["name"], tool.get("description") or "", tool["input"])
        for tool in shape.tools
    ]
    if not declared:
        return {}
    if final_tool:
        declared.append(_declared(final_tool, FINAL_TOLD, object_schema(request["output_schema"])))
    told: dict[str, Any] = {"tools": [{"functionDeclarations": declared}]}
    if choice := _choice(shape.request.get("tool_choice"), final_tool):
        told["toolConfig"] = {"functionCallingConfig": choice}
    return told


def _declared(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function; one without arguments has no schema."""
    told = {"name": name, "description": description}
    if not schema.get("properties") and schema.keys() <= {"type", "properties"}:
        return told
    return {**told, "parametersJsonSchema": gemini_schema(schema)}


def _choice(wanted: Any, final_tool: str | None) -> dict[str, Any]:
    """Return how tools may be used, empty where nothing is said about it.

    Where the answer is a call as well, some tool is called each time.
    """
    if wanted == "none" and final_tool:
        wanted = {"name": final_tool}
    if isinstance(wanted, Mapping):
        return {"mode": "ANY", "allowedFunctionNames": [wanted["name"]]}
    mode = "ANY" if final_tool else _MODES.get(wanted)
    return {"mode": mode} if mode else {}


def _generation(asked: Asked, model: str, *, has_final_tool: bool) -> dict[str, Any]:
    request, version = asked.request, version_of(model)
    config: dict[str, Any] = {}
    if request.get("temperature") is not None and version < _NO_TEMPERATURE_FROM:
        config["temperature"] = request["temperature"]
    if limit := request.get("max_completion_tokens") or asked.beside.default_max_tokens:
        config["maxOutputTokens"] = limit
    if stop := list(request.get("stop") or ()):
        if len(stop) > MAX_STOP_SEQUENCES:
            raise unsupported(f"a list of more than {MAX_STOP_SEQUENCES} stop sequences", PROVIDER)
        config["stopSequences"] = stop
    if thinking := _thinking(request.get("reasoning") or {}, model):
        config["thinkingConfig"] = thinking
    if request.get("output_schema") and not has_final_tool:
        config["responseMimeType"] = "application/json"
        if schema := gemini_schema(request["output_schema"]):
            config["responseJsonSchema"] = schema
    return config


def _thinking(reasoning: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return how much the model thinks and whether it shows it, empty where nothing was asked."""
    version, effort = version_of(model), _effort(reasoning)
    if effort is None or version < _BUDGETS_FROM:
        return {}
    told: dict[str, Any] = {}
    if version >= _LEVELS_FROM:
        told["thinkingLevel"] = _level(effort, model)
    else:
        told["thinkingBudget"] = _budget(effort, reasoning, model)
    if effort != "none" and not reasoning.get("exclude"):
        told["includeThoughts"] = True
    return told


def _effort(reasoning: Mapping[str, Any]) -> str | None:
    """Return the effort asked for, also where it is asked for in tokens. Source: W-6."""
    if reasoning.get("enabled") is False:
        return "none"
    if effort := reasoning.get("effort"):
        return str(effort)
    if tokens := reasoning.get("max_tokens"):
        return next((name for name, most in BUDGETS.items() if tokens <= most), "xhigh")
    return "medium" if reasoning.get("enabled") else None


def _level(effort: str, model: str) -> str:
    """Return the level; the lowest one that the model has stands for none, too."""
    if model.startswith("gemini-3-pro") and effort == "medium":
        return "HIGH"  # it has no step between low and high
    if known := _LEVELS.get(effort):
        return known
    takes_minimal = "flash" in model and version_of(model) < _NO_MINIMUM_FROM
    return "MINIMAL" if takes_minimal else "LOW"


def _budget(effort: str, reasoning: Mapping[str, Any], model: str) -> int:
    """Return the tokens, within what the model allows. Source: W-6."""
    kind = next((kind for kind in _RANGES if kind in model), "flash")
    least, most = _RANGES[kind]
    if effort == "none":
        return least if kind == "pro" else 0
    return min(max(int(reasoning.get("max_tokens") or BUDGETS[effort]), least), most)
