"""Model requests of every kind, as the engine makes them: conversations that are well-formed.

It knows no provider.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from everturn.llm.providers.http_model import Asked
from everturn.ports.model import Account, Beside, Replay

KEY = "sk-test"
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
LINKED = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
PAPER = {
    "type": "file",
    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
}
TEXTS = st.sampled_from(["Hi", "How is it in Zürich? 🙂", "  ", "\n", "x" * 500])
NAMES = st.sampled_from(["get_weather", "get.weather", "1st", "größe", "n" * 80, "final_report"])
IDS = st.sampled_from(
    ["call_0", "a.b", "call_01984a3c-7000-7000-8000-000000000001", "toolu_1", "ü" * 30]
)
SCHEMAS = st.sampled_from(
    [
        None,
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        {"anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "null"}]},
        {
            "$ref": "#/$defs/tree",
            "$defs": {
                "tree": {
                    "type": "object",
                    "properties": {
                        "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}
                    },
                }
            },
        },
        {"properties": {"x": {"type": ["string", "null"]}}},
    ]
)
ARGUMENTS = st.sampled_from(['{"city":"Bern"}', "{}", "", '{"a":', "[1]"])
REPORT = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}


def asked(
    request: dict[str, Any],
    *,
    failed: frozenset[str] = frozenset(),
    replays: dict[str, Replay] | None = None,
    account: Account | None = None,
    **beside: Any,
) -> Asked:
    """Return one call, as a wire is given it, with a key."""
    told = Beside(
        account=account or Account(api_key=KEY),
        replays=replays or {},
        cache_key="k" * 32,
        **beside,
    )
    return Asked(request, failed, told)


@st.composite
def conversations(draw: st.DrawFn, pictures: bool = True) -> list[dict[str, Any]]:
    """Draw messages in which each call has its result directly behind it."""
    messages: list[dict[str, Any]] = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(st.sampled_from(["Be kind.", "s"]))})
    parts = [{"type": "text", "text": "See:"}, *([PICTURE, PAPER] if pictures else [])]
    for turn in range(draw(st.integers(0, 4))):
        content = draw(st.one_of(TEXTS, st.just(parts)))
        if turn or draw(st.booleans()):
            messages.append({"id": f"u{turn}", "role": "user", "content": content})
        messages += draw(_answers(turn))
    return messages


@st.composite
def _answers(draw: st.DrawFn, turn: int) -> list[dict[str, Any]]:
    ids = draw(st.lists(IDS, unique=True, max_size=2))
    said = draw(st.one_of(st.none(), TEXTS))
    message: dict[str, Any] = {"id": f"a{turn}", "role": "assistant"}
    message |= {"content": said} if said else {}
    own = [f"{one}-{turn}" for one in ids]
    calls: list[dict[str, Any]] = [
        {
            "id": one,
            "type": "function",
            "function": {"name": draw(NAMES), "arguments": draw(ARGUMENTS)},
        }
        for one in own
    ]
    message |= {"tool_calls": calls} if calls else {}
    if not said and not calls:
        return []
    results = [
        {
            "role": "tool",
            "tool_call_id": one["id"],
            "name": one["function"]["name"],
            "content": draw(st.sampled_from(["ok", "", '{"a":1}'])),
        }
        for one in calls
    ]
    return [message, *results]


@st.composite
def requests(draw: st.DrawFn, model: str, pictures: bool = True) -> dict[str, Any]:
    """Draw a request to `model`."""
    names = draw(st.lists(NAMES, unique=True, max_size=3))
    request: dict[str, Any] = {"model": model, "messages": draw(conversations(pictures))}
    if names:
        request["tools"] = [_tool(name, draw(SCHEMAS)) for name in names]
    optional: dict[str, st.SearchStrategy[Any]] = {
        "temperature": st.sampled_from([0, 0.5, 1]),
        "max_completion_tokens": st.sampled_from([16, 1000, 5000, 64_000]),
        "stop": st.sampled_from([["END"], ["A", "B"]]),
        "output_schema": st.just(REPORT),
        "parallel_tool_calls": st.booleans(),
        "tool_choice": st.sampled_from(["auto", "none", "required", {"name": "get.weather"}]),
        "reasoning": st.fixed_dictionaries(
            {},
            optional={
                "effort": st.sampled_from(["none", "minimal", "low", "medium", "high", "xhigh"]),
                "max_tokens": st.sampled_from([0, 500, 4000]),
                "exclude": st.booleans(),
                "enabled": st.booleans(),
            },
        ),
    }
    for name, values in optional.items():
        if draw(st.booleans()):
            request[name] = draw(values)
    return request


def _tool(name: str, schema: Any) -> dict[str, Any]:
    tool = {"name": name, "description": "Does it."}
    return tool if schema is None else {**tool, "input": schema}
