"""The same turns on LangGraph and its DynamoDB checkpointer, on the same cloud and meter."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from bench.stage import Stage
from bench.turns import KINDS, Kind
from everturn_local.usage import Line

TABLE: Final = "bench-peer"
QUOTED: Final = "27 requests; 33 write units at turn 1, 1,761 at turn 100"
"""LangGraph on its DynamoDB checkpointer, as it was measured once; not by this run."""

INSTALL: Final = ".venv/bin/python -m pip install -r bench/requirements.txt"
SAID: Final = "Word by word it goes on, Word by word it goes on, and ends."
RESULT: Final = '{"timezone":"Asia/Tokyo","local_time":"2030-01-01T09:00:00+09:00"}'


@dataclass(frozen=True, slots=True)
class PeerTurn:
    """What one turn of the peer used."""

    kind: Kind
    number: int
    line: Line


def is_there() -> bool:
    """Return whether the peer is installed."""
    return all(find_spec(name) for name in ("langgraph", "langgraph_checkpoint_aws"))


def peer_turns(here: Stage, numbers: Sequence[int]) -> Iterator[PeerTurn]:
    """Yield those turns of a plain and of a one-tool session of the peer, no stream, no queue."""
    os.environ["LANGSMITH_TRACING"] = "false"
    _create_table(here)
    saver = importlib.import_module("langgraph_checkpoint_aws").DynamoDBSaver(
        table_name=TABLE, region_name=here.runtime.region
    )
    for kind in KINDS:
        graph = _graph(kind, saver)
        for number in range(1, max(numbers) + 1):
            before = here.tape.snapshot()
            graph.invoke(
                {"messages": [{"role": "user", "content": SAID}]},
                {"configurable": {"thread_id": kind}},
            )
            if number in numbers:
                usage = here.tape.snapshot().minus(before)
                yield PeerTurn(kind, number, usage.total(category="main"))


def _graph(kind: Kind, saver: Any) -> Any:
    """Return an agent as LangGraph's own guide builds it: a model node, a tool node, a loop."""
    messages = importlib.import_module("langchain_core.messages")
    graphs = importlib.import_module("langgraph.graph")

    def model(state: dict[str, Any]) -> dict[str, Any]:
        last = state["messages"][-1]
        if kind == "plain" or last.type == "tool":
            return {"messages": [messages.AIMessage(SAID)]}
        call = {"name": "clock", "args": {"timezone": "Asia/Tokyo"}, "id": f"call_{last.id}"}
        return {"messages": [messages.AIMessage("", tool_calls=[call])]}

    def tools(state: dict[str, Any]) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [messages.ToolMessage(RESULT, tool_call_id=call["id"])]}

    def is_calling(state: dict[str, Any]) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", ()) else graphs.END

    builder = graphs.StateGraph(graphs.MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", tools)
    builder.add_edge(graphs.START, "model")
    builder.add_conditional_edges("model", is_calling, ["tools", graphs.END])
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


def _create_table(here: Stage) -> None:
    here.runtime.clients.dynamodb.create_table(
        TableName=TABLE,
        AttributeDefinitions=[
            {"AttributeName": "PK", "AttributeType": "S"},
            {"AttributeName": "SK", "AttributeType": "S"},
        ],
        KeySchema=[
            {"AttributeName": "PK", "KeyType": "HASH"},
            {"AttributeName": "SK", "KeyType": "RANGE"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
