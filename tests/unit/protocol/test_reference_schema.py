"""Our field names against the public schema, where it lies beside the repository.

Differences of Appendix A and our own extensions are named here, one by one.
"""

from typing import Any, get_args

import pytest

import reference
from everturn.protocol import action, agent, call, client_input, decision, llm, message, trigger
from everturn.protocol.wire import WireModel
from reference import OURS, definitions

pytestmark = pytest.mark.skipif(not reference.is_at_hand(), reason="the reference is not at hand")

MODELS: dict[str, type[WireModel]] = {
    "AgentConfig": agent.AgentConfig,
    "AgentTool": agent.AgentTool,
    "AudioData": message.AudioData,
    "ClientContext": trigger.ClientContext,
    "DecisionRequest": decision.DecisionRequest,
    "DecisionResponse": decision.DecisionResponse,
    "DraftMessage": message.DraftMessage,
    "Effect": call.Call,
    "FileData": message.FileData,
    "ImageUrl": message.ImageUrl,
    "LlmRequest": llm.LlmRequest,
    "LlmResponse": llm.LlmResponse,
    "LlmTool": llm.LlmTool,
    "Message": message.Message,
    "MessageTree": message.MessageTree,
    "ReasoningConfig": llm.ReasoningConfig,
    "ResponseImage": llm.ResponseImage,
    "RetryPolicy": agent.RetryPolicy,
    "StreamDelta": llm.StreamDelta,
    "SubAgent": agent.SubAgent,
    "ToolCall": message.ToolCall,
    "ToolCallChunk": llm.ToolCallDelta,
    "ToolCallFunction": message.ToolCallFunction,
    "VideoUrl": message.VideoUrl,
    "WorkerIdentity": decision.WorkerIdentity,
}

UNIONS: dict[str, Any] = {
    "ClientInput": client_input.ClientInput,
    "ContentPart": message.ContentPart,
    "DecisionAction": action.Action,
    "DecisionTrigger": trigger.Trigger,
    "ToolInput": trigger.ToolInput,
}

OUR_MEMBERS = {"tool.poll", "tool.ask", "tool.task", "tool.pending"}

REQUIRED_HERE: dict[str, set[str]] = {
    "DecisionRequest": {"proposed", "agent", "deadline", "turn_id"},
    "MessageTree": {"nodes"},
    "RetryPolicy": {"timeout_secs"},
    "client.messages": {"new_from", "client"},
    "llm.execute": {"stream"},
    "llm.finished": {"truncated"},
}


def fields_of(model: type[WireModel]) -> set[str]:
    return set(model.model_fields)


def members_of(union: Any) -> dict[str, type[WireModel]]:
    members = get_args(get_args(union)[0])
    tags = [next(name for name in ("type", "status") if name in m.model_fields) for m in members]
    return {
        member.model_fields[tag].default: member for member, tag in zip(members, tags, strict=True)
    }


def tag_of(member: dict[str, Any]) -> str:
    properties = member["properties"]
    tag: str = next(
        properties[name]["const"]
        for name in ("type", "status")
        if "const" in properties.get(name, {})
    )
    return tag


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_fields_of_the_reference_and_ours(name: str) -> None:
    theirs = set(definitions()[name]["properties"])

    ours = fields_of(MODELS[name]) - OURS.get(name, set())

    assert ours == theirs


@pytest.mark.parametrize("name", MODELS)
def test_a_model_requires_what_the_reference_requires(name: str) -> None:
    theirs = set(definitions()[name].get("required", []))

    ours = {key for key, field in MODELS[name].model_fields.items() if field.is_required()}

    assert ours - REQUIRED_HERE.get(name, set()) == theirs - REQUIRED_HERE.get(name, set())


@pytest.mark.parametrize("name", UNIONS)
def test_a_union_has_the_members_and_fields_of_the_reference_and_ours(name: str) -> None:
    theirs = {tag_of(member): set(member["properties"]) for member in definitions()[name]["oneOf"]}

    ours = {
        tag: fields_of(member) - (OURS.get(tag, set()) if name == "DecisionTrigger" else set())
        for tag, member in members_of(UNIONS[name]).items()
        if tag not in OUR_MEMBERS
    }

    assert ours == theirs


@pytest.mark.parametrize("name", ["ClientInput", "DecisionAction", "DecisionTrigger"])
def test_a_member_requires_what_the_reference_requires(name: str) -> None:
    theirs = {
        tag_of(member): set(member["required"]) - {"type"}
        for member in definitions()[name]["oneOf"]
    }
    extra = REQUIRED_HERE if name == "DecisionTrigger" else {}

    ours = {
        tag: {key for key, field in member.model_fields.items() if field.is_required()}
        - extra.get(tag, set())
        for tag, member in members_of(UNIONS[name]).items()
        if tag not in OUR_MEMBERS
    }

    assert ours == theirs
