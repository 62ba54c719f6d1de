"""Requests to the demo model in few words, and what it answers to them."""

from collections.abc import Callable, Sequence
from typing import Any

from everturn.llm.assemble import Answer, assemble
from everturn.llm.chunks import Chunk
from everturn.llm.demo.model import Aside, DemoModel
from everturn.protocol.llm import LlmRequest, LlmTool, ReasoningConfig, ToolChoice
from everturn.protocol.message import DraftMessage, ToolCall, ToolCallFunction

TOOLS = (LlmTool(name="clock", description=""), LlmTool(name="add", description=""))


def user(text: str) -> DraftMessage:
    return DraftMessage(role="user", content=text)


def assistant(text: str | None = None, *calls: str) -> DraftMessage:
    made = tuple(
        ToolCall(id=call, type="function", function=ToolCallFunction(name="clock", arguments="{}"))
        for call in calls
    )
    return DraftMessage(role="assistant", content=text, tool_calls=made or None)


def tool(call: str, text: str) -> DraftMessage:
    return DraftMessage(role="tool", tool_call_id=call, name="clock", content=text)


def request_of(
    messages: str | Sequence[DraftMessage],
    *,
    tools: Sequence[LlmTool] | None = TOOLS,
    reasoning: ReasoningConfig | None = None,
    output_schema: dict[str, Any] | bool | None = None,
    tool_choice: ToolChoice | None = None,
) -> LlmRequest:
    return LlmRequest(
        model="demo",
        messages=(user(messages),) if isinstance(messages, str) else tuple(messages),
        tools=None if tools is None else tuple(tools),
        reasoning=reasoning,
        output_schema=output_schema,
        tool_choice=tool_choice,
    )


def stream(
    request: LlmRequest,
    attempt: int = 1,
    failed: frozenset[str] = frozenset(),
    **aside: Any,
) -> list[Chunk]:
    told: Aside = {**aside}  # type: ignore[typeddict-item]  # tests pass what Aside has
    model = DemoModel(no_wait)
    return list(
        model.stream(request, attempt=attempt, cancelled=never, failed_tool_calls=failed, **told)
    )


def ask(
    messages: str | Sequence[DraftMessage],
    attempt: int = 1,
    failed: frozenset[str] = frozenset(),
    **how: Any,
) -> Answer:
    return assemble(stream(request_of(messages, **how), attempt, failed))


def said(messages: str | Sequence[DraftMessage], **how: Any) -> str | None:
    return ask(messages, **how).content


def calls(answer: Answer) -> list[tuple[str, str]]:
    return [(call.function.name, call.function.arguments) for call in answer.tool_calls]


def turns(script: str, count: int, tools: Sequence[LlmTool] | None = TOOLS) -> list[Answer]:
    """Return the answers to the first `count` model calls of one turn."""
    messages = [user(script)]
    answers = []
    for number in range(count):
        answers.append(ask(messages, tools=tools))
        messages += [assistant(answers[-1].content, f"c{number}"), tool(f"c{number}", "ok")]
    return answers


def no_wait(_seconds: float) -> None:
    return None


never: Callable[[], bool] = bool
