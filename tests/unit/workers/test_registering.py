"""What may be registered with a worker, and what is refused where it is registered."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from typing import Any

import pytest

from everturn.protocol import agent, call
from everturn.protocol.trigger import TRIGGER
from everturn.workers import Worker, registry, replies, tools


class OldDict(typing.TypedDict):
    a: int


def untyped(a) -> None: ...  # type: ignore[no-untyped-def]  # that is the point


def star(*numbers: int) -> None: ...


def stars(**numbers: int) -> None: ...


def positional(a: int, /) -> None: ...


def yields(a: int) -> typing.Iterator[int]:
    yield a


async def streams(a: int) -> typing.AsyncIterator[int]:
    yield a


def raw() -> bytes:
    raise NotImplementedError


def unknown(a: NotThere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def strange(a: Worker) -> None: ...


def takes_old_dict(a: OldDict) -> None: ...


def returns_old_dict() -> OldDict:
    raise NotImplementedError


OLD_PYTHON = pytest.mark.skipif(sys.version_info >= (3, 12), reason="it can look into the dict")


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (untyped, "untyped: the parameter a needs a type"),
        (star, "star: *numbers: 'int' cannot be given by name"),
        (stars, "stars: **numbers: 'int' cannot be given by name"),
        (positional, "positional: a: 'int' cannot be given by name"),
        (yields, "yields: a tool returns one result; it does not yield"),
        (streams, "streams: a tool returns one result; it does not yield"),
        (raw, "a tool returns JSON, not bytes"),
        (unknown, "unknown: NotThere in its annotations is not known where it is registered"),
        (strange, "strange: its types have no JSON Schema: "),
        pytest.param(
            takes_old_dict,
            "takes_old_dict: its types have no JSON Schema: "
            "Please use `typing_extensions.TypedDict`",
            marks=OLD_PYTHON,
        ),
        pytest.param(
            returns_old_dict, "Please use `typing_extensions.TypedDict`", marks=OLD_PYTHON
        ),
    ],
)
def test_a_function_that_no_model_could_call_is_refused_where_it_is_registered(
    function: Callable[..., Any], told: str
) -> None:
    with pytest.raises(TypeError) as caught:
        Worker().tool(function)

    assert str(caught.value).startswith(told)


def test_a_type_that_can_be_read_but_not_described_is_told_when_the_tools_are_listed() -> None:
    worker = Worker()

    @worker.tool
    def act(then: Callable[[], int]) -> None: ...

    with pytest.raises(TypeError, match="act: Cannot generate a JsonSchema for"):
        worker.agent_tools()


def test_what_the_engine_would_refuse_is_told_when_the_tools_are_listed() -> None:
    def act() -> None: ...

    def listed(**options: Any) -> str:
        worker = Worker()
        worker.tool(**options)(act)
        with pytest.raises(ValueError, match="the engine would refuse these tools: ") as caught:
            worker.agent_tools()
        return str(caught.value).removeprefix("the engine would refuse these tools: ")

    retry = {"timeout_secs": None, "max_retries": 2, "backoff_base_secs": 1, "backoff_max_secs": 1}
    assert listed(name="no spaces please").startswith("/tools/0/name: ")
    assert listed(effect="reads").startswith("/tools/0/effect: ")
    assert listed(timeout_secs=0).startswith("/tools/0/timeout_secs: ")
    assert listed(retry=retry).startswith("/tools/0/retry: a second attempt needs effect read")


def test_a_poll_takes_what_a_poll_is_sent() -> None:
    worker = Worker()

    def poll(job: str) -> None: ...

    with pytest.raises(TypeError, match=r"poll: a poll takes task_id, .* and a Context, not job"):
        worker.poll("render")(poll)


def test_a_name_is_registered_once() -> None:
    worker = Worker()

    def act() -> None: ...

    worker.tool(act)
    worker.poll("act")(act)
    worker.on("llm.finished")(lambda _: None)

    with pytest.raises(ValueError, match="there is a tool named act already"):
        worker.tool(act)
    with pytest.raises(ValueError, match="there is a poll for act already"):
        worker.poll("act")(act)
    with pytest.raises(ValueError, match=r"there is a handler for llm\.finished already"):
        worker.on("llm.finished")(lambda _: None)
    with pytest.raises(
        ValueError, match=r"no trigger is named llm\.done; there are session\.start"
    ):
        worker.on("llm.done")
    with pytest.raises(ValueError, match="<lambda> is no tool of this worker"):
        worker.poll(lambda: None)


def test_a_poll_without_its_tool_is_told_when_the_tools_are_listed() -> None:
    worker = Worker()
    worker.poll("render")(lambda: None)

    with pytest.raises(ValueError, match="polls of tools that there are not: render"):
        worker.agent_tools()


def test_the_words_for_effects_are_the_protocols() -> None:
    known = TRIGGER.json_schema()["discriminator"]["mapping"].keys()

    assert set(typing.get_args(tools.Effect)) == set(typing.get_args(agent.Effect))
    assert tools.REPEATABLE == agent.REPEATABLE
    assert set(typing.get_args(call.ErrorCode)) == replies.ERROR_CODES
    assert known == {*registry.TRIGGERS, "tool.execute", "tool.poll"}
