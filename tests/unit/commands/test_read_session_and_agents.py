"""O-23, O-24, Q-6, storage-and-commits, "Streams": what a session and an agent look like."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.agents import Agents
from everturn.commands.read_session import ReadSession
from everturn.commands.reading import SessionReader
from everturn.errors import DefectError, RejectedError
from everturn.llm.catalogue import Catalogue, ModelFacts, ReasoningEffort
from everturn.llm.catalogue import Route as LlmRoute
from everturn.llm.demo.model import DEMO_ROUTE
from everturn.protocol.limits import MAX_AGENT_BYTES
from everturn.rejections import (
    InvalidToolSchema,
    NotYetSupported,
    SchemaViolation,
    TooLarge,
    UnknownAgent,
    UnknownSession,
)
from unit.drive.doubles import FrozenClock, answered
from unit.drive.world import AGENT, KEY, MACHINE, TENANT, World


def read(world: World, **how: Any) -> dict[str, Any]:
    return ReadSession(world.store, world.reader)(MACHINE, "s1", **how)


def test_an_idle_session_shows_its_messages_and_how_its_last_turn_ended() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.advance()

    shown = read(world)

    assert [message["content"] for message in shown.pop("messages")] == ["[[say:Hi]]", "Hi"]
    assert shown == {
        "session_id": "s1",
        "agent_id": "helper",
        "status": "done",
        "seq": world.head().session.seq,
        "interrupts": [],
        "calls": [],
        "waits": [],
        "last_outcome": "done",
    }


def test_an_active_session_shows_its_turn_and_its_open_calls() -> None:
    world = World()
    world.decider.answer = lambda _request: answered()
    world.submit('[[call:send {"to":"x"}]]')
    waiting = read(world)
    world.advance()
    open_call = read(world)

    assert (waiting["status"], waiting["turn_id"]) == ("active", "t1")
    assert [call["kind"] for call in waiting["calls"]] == ["llm_call"]
    assert waiting["calls"][0]["stream"] is True
    assert waiting["calls"][0]["deadline"].startswith("2026-01-01T12:01:00")
    assert open_call["calls"] == [
        {
            "id": world.head().session.calls[0].id,
            "kind": "tool_call",
            "status": "pending",
            "attempt": 1,
            "handler": "worker",
            "arguments": '{"to":"x"}',
            "name": "send",
        }
    ]


def test_the_tree_comes_when_it_is_asked_for() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.advance()

    tree = read(world, tree=True)["message_tree"]

    assert "message_tree" not in read(world)
    assert [node.get("parent_id") for node in tree["nodes"]] == [
        None,
        tree["nodes"][0]["message"]["id"],
    ]
    assert tree["head_id"] == tree["nodes"][1]["message"]["id"]


def test_messages_page_backwards_two_hundred_at_a_time() -> None:
    world = World()
    view = [{"role": "user", "content": str(n)} for n in range(399)]
    from everturn.protocol.client_input import read_input  # noqa: PLC0415  # the one use

    wanted = {"type": "client.messages", "agent_id": "helper", "turn_id": "t1", "messages": view}
    world.submitter()(MACHINE, read_input({"session_id": "s1", "input": wanted}))

    newest = read(world)
    older = read(world, before=newest["before_seq"])

    assert [message["content"] for message in newest["messages"]] == [
        str(n) for n in range(199, 399)
    ]
    assert [message["content"] for message in older["messages"]] == [str(n) for n in range(199)]
    assert "before_seq" not in older


def test_a_session_that_is_not_there_is_unknown() -> None:
    with pytest.raises(UnknownSession):
        read(World())


def test_a_session_keeps_the_config_it_pinned_when_its_agent_changes() -> None:
    world = World()
    world.submit("[[say:{{system}}]]")
    world.agent("helper", system="Another.")
    world.advance()
    first = world.texts()[-1]
    world.submit("[[say:{{system}}]]", turn="t2")
    world.advance()

    assert "Another." not in first[1]
    assert "Another." not in world.texts()[-1][1]


def test_a_pinned_config_that_is_not_in_the_log_is_a_defect() -> None:
    world = World()
    world.submit("Hello")
    world.agent("helper", system="Another.")
    reader = SessionReader(_Lost(), world.directory, world.directory.agent, world.catalogue_of)

    with pytest.raises(DefectError, match="no agent config"):
        reader.load(KEY, world.head())


class _Lost:
    """A store with an empty log."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_args: ()


# ---- agents


ALLOWED = "arn:aws:lambda:us-east-1:123456789012:function:everturn-worker-"
FUNCTION = f"{ALLOWED}tools"


class Case:
    """The use cases of agents, and who was forgotten."""

    def __init__(self, functions: str = ALLOWED) -> None:
        self.world = World(clock=FrozenClock())
        self.forgotten: list[tuple[str, str]] = []
        self.agents = Agents(
            self.world.directory,
            self.world.clock,
            networks="public",
            catalogue_of=lambda _tenant: self.world.models.catalogue(),
            forget=lambda tenant, agent: self.forgotten.append((tenant, agent)),
            functions=functions,
        )


def test_a_model_is_looked_up_in_the_catalogue_of_its_tenant() -> None:
    world = World(clock=FrozenClock())
    facts = ModelFacts("acme", "m", "M", efforts=(ReasoningEffort("low", "Low"),))
    catalogues = {
        TENANT: Catalogue((LlmRoute("acme", "Acme", (facts,)),), "acme", {"fast": "acme:m"}),
        "rival": Catalogue((DEMO_ROUTE,), "nobody"),
    }
    agents = Agents(
        world.directory, world.clock, "public", lambda _tenant, _agent: None, catalogues.__getitem__
    )

    def put(tenant: str, model: str, effort: str = "low") -> str:
        body = {"model": model, "reasoning": {"effort": effort}}
        try:
            agents.put(tenant, "a1", body)
        except RejectedError as error:
            return error.message
        return "written"

    assert put(TENANT, "fast") == put(TENANT, "other") == "written"
    assert put(TENANT, "fast", "high") == "acme:m offers no effort high; it has low"
    nobody = "/model: no provider here serves it; demo:demo can be used"
    assert put("rival", "fast") == put("rival", "demo:other") == nobody
    assert put("rival", "demo:demo") == "written"


def test_an_agent_is_created_then_replaced() -> None:
    case = Case()

    first = case.agents.put(TENANT, "a1", {"model": "demo:demo", "worker_secret": None})
    second = case.agents.put(TENANT, "a1", {"model": "demo:demo", "system": "s"})

    assert (first.created, second.created) == (True, False)
    assert case.agents.get(TENANT, "a1") == {"agent_id": "a1", "model": "demo:demo", "system": "s"}
    assert case.forgotten == [(TENANT, "a1")] * 2


def test_an_agents_secret_is_a_place_and_is_not_pinned() -> None:
    case = Case()
    secret = {"ssm": "/name"}
    plain = case.agents.put(TENANT, "a1", AGENT)
    del plain

    written = case.agents.put(TENANT, "a2", {**AGENT, "worker_secret": secret})

    kept = case.world.directory.agent(TENANT, "a2")
    other = case.world.directory.agent(TENANT, "a1")
    assert kept is not None
    assert other is not None
    assert written.agent["worker_secret"] == secret
    assert "worker_secret" not in kept.definition
    assert kept.sha256 == other.sha256


def test_an_agent_is_deleted_once() -> None:
    case = Case()
    case.agents.put(TENANT, "a1", AGENT)

    case.agents.delete(TENANT, "a1")

    with pytest.raises(UnknownAgent):
        case.agents.delete(TENANT, "a1")
    with pytest.raises(UnknownAgent):
        case.agents.get(TENANT, "a1")


def test_an_agent_of_another_tenant_is_unknown() -> None:
    case = Case()
    case.agents.put(TENANT, "a1", AGENT)

    with pytest.raises(UnknownAgent):
        case.agents.get("rival", "a1")


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"plan_mode": True}, "/plan_mode"),
        ({"worker_secret": {"generate": True}}, "/worker_secret"),
        ({"tools": [{"name": "x", "approval": "always"}]}, "/tools/0/approval"),
        ({"hooks": ["step.start"]}, "/hooks"),
    ],
)
def test_a_wish_that_is_not_granted_yet_is_named(changed: dict[str, Any], path: str) -> None:
    case = Case()

    with pytest.raises(NotYetSupported) as refused:
        case.agents.put(TENANT, "a1", {**AGENT, **changed})

    assert refused.value.message.startswith(path)
    assert case.world.directory.agent(TENANT, "a1") is None


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"worker": "http://169.254.169.254/x"}, "/worker"),
        ({"worker": "arn:aws:lambda:us-east-1:123456789012:function:"}, "/worker"),
        ({"worker": "arn:aws:lambda:us-east-1:123456789012:function:payroll"}, "/worker"),
        ({"worker": "arn:aws:lambda:us-east-1:1:function:everturn-worker-x"}, "/worker"),
        ({"worker": FUNCTION, "worker_secret": {"env": "PLACE"}}, "/worker_secret"),
        (
            {"tools": [{"name": "x", "input": {"type": "object"}, "output": {"type": 7}}]},
            "/tools/0/output",
        ),
        ({"model": ""}, "/model"),
    ],
)
def test_a_definition_that_is_wrong_says_where(changed: dict[str, Any], path: str) -> None:
    case = Case()

    with pytest.raises((SchemaViolation, InvalidToolSchema)) as refused:
        case.agents.put(TENANT, "a1", {**AGENT, **changed})

    assert refused.value.message.startswith(path)


@pytest.mark.parametrize("allowed", [ALLOWED, ""], ids=["known", "left to IAM"])
@pytest.mark.parametrize("qualifier", ["", ":prod"])
def test_a_worker_may_be_a_function(allowed: str, qualifier: str) -> None:
    case = Case(functions=allowed)

    written = case.agents.put(TENANT, "a1", {**AGENT, "worker": f"{FUNCTION}{qualifier}"})

    assert written.agent["worker"] == f"{FUNCTION}{qualifier}"


def test_where_nothing_is_known_of_what_is_allowed_a_function_is_refused_when_it_is_called() -> (
    None
):
    elsewhere = FUNCTION.replace("everturn-worker-", "payroll-")

    written = Case(functions="").agents.put(TENANT, "a1", {**AGENT, "worker": elsewhere})

    assert written.agent["worker"] == elsewhere


def test_a_definition_that_is_too_large_says_how_large() -> None:
    with pytest.raises(TooLarge) as refused:
        Case().agents.put(TENANT, "a1", {**AGENT, "system": "x" * MAX_AGENT_BYTES})

    assert refused.value.fields["limit_bytes"] == MAX_AGENT_BYTES
