"""What every `Directory` does, the fake and the table alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everturn.ports.callers import NOBODY, Caller, Who
from everturn.ports.directory import (
    AgentLine,
    AgentPage,
    AgentRecord,
    ApiKey,
    Connection,
    Directory,
)
from everturn.session.events.sessions import Owner

ACME = Caller("acme")


def agent(text: str = "Be kind.") -> AgentRecord:
    definition = {"id": "helper", "instructions": text}
    return AgentRecord("helper", definition, "a1" * 32, {"ssm": "/acme/helper"}, 1_767_268_800_000)


def test_a_key_is_found_by_its_hash(directory: Directory) -> None:
    directory.put_api_key("f0" * 32, ApiKey("acme", "laptop"))

    found = (directory.api_key("f0" * 32), directory.api_key("f1" * 32))

    assert found == (ApiKey("acme", "laptop"), None)


def test_a_tenants_record_is_replaced_as_a_whole(directory: Directory) -> None:
    nobody = directory.tenant("acme")
    directory.put_tenant("acme", {"demo_provider": "on"})

    directory.put_tenant("acme", {})

    assert (nobody, directory.tenant("acme")) == (None, {})


def test_an_agent_is_created_updated_and_deleted(directory: Directory) -> None:
    answers = (
        directory.put_agent("acme", agent()),
        directory.put_agent("acme", agent("Be brief.")),
        directory.agent("acme", "helper"),
        directory.agent("zenith", "helper"),
        directory.delete_agent("acme", "helper"),
        directory.delete_agent("acme", "helper"),
        directory.agent("acme", "helper"),
    )

    assert answers == ("created", "updated", agent("Be brief."), None, True, False, None)


def test_an_agent_of_two_megabytes_comes_back_whole(directory: Directory) -> None:
    large = agent("é" * 1_048_000)

    directory.put_agent("acme", large)

    assert directory.agent("acme", "helper") == large


def test_a_subscription_can_be_taken_off_its_connection(directory: Directory) -> None:
    directory.put_connection("c=1", ACME, 2_000_000_000)
    directory.note_subscription("c=1", "s1", "a")
    directory.note_subscription("c=1", "s2", "b")

    directory.forget_subscription("c=1", "s1", "a")
    directory.forget_subscription("c=1", "s9", "z")
    directory.forget_subscription("c=2", "s1", "a")

    found = directory.connection("c=1")
    assert found == Connection(ACME, 2_000_000_000, (("s2", "b"),))
    assert directory.connection("c=2") is None


def test_a_connection_remembers_its_subscriptions(directory: Directory) -> None:
    directory.put_connection("c=1", ACME, 2_000_000_000)
    for session, subscription in (("s2", "b"), ("s1", "a"), ("s2", "b")):
        directory.note_subscription("c=1", session, subscription)
    found = directory.connection("c=1")

    directory.delete_connection("c=1")
    directory.note_subscription("c=1", "s3", "c")

    assert found == Connection(ACME, 2_000_000_000, (("s1", "a"), ("s2", "b")))
    assert directory.connection("c=1") is None


CALLERS = [
    NOBODY,
    ACME,
    Caller("acme", expires_epoch_s=7),
    Caller("acme", Who.FRONTEND, owner=Owner(id="u1"), scopes=("a", "b"), expires_epoch_s=7),
    Caller("acme", Who.FRONTEND, owner=Owner(id="u1", metadata={"k": "é"}), expires_epoch_s=8),
]


@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_a_connection_knows_whose_it_is(directory: Directory, caller: Caller) -> None:
    directory.put_connection("c=1", caller, 2_000_000_000)

    assert directory.connection("c=1") == Connection(caller, 2_000_000_000)


@pytest.mark.parametrize("before", CALLERS, ids=str)
@pytest.mark.parametrize("after", CALLERS[1:], ids=str)
def test_a_connection_is_renewed_with_its_subscriptions(
    directory: Directory, before: Caller, after: Caller
) -> None:
    directory.put_connection("c=1", before, 2_000_000_000)
    directory.note_subscription("c=1", "s1", "a")

    renewed = directory.renew_connection("c=1", before, after, 2_000_000_007)
    repeated = directory.renew_connection("c=1", before, after, 2_000_000_007)
    found = directory.connection("c=1")
    again = directory.renew_connection("c=1", after, ACME, 2_000_000_009)

    assert (renewed, repeated, again) == (True, True, True)
    assert found == Connection(after, 2_000_000_007, (("s1", "a"),))
    assert directory.connection("c=1") == Connection(ACME, 2_000_000_009, (("s1", "a"),))


def test_a_connection_that_is_anothers_by_now_is_not_renewed(directory: Directory) -> None:
    first, second = CALLERS[3:]
    directory.put_connection("c=1", NOBODY, 2_000_000_000)
    directory.renew_connection("c=1", NOBODY, first, 2_000_000_000)

    taken = directory.renew_connection("c=1", NOBODY, second, 2_000_000_007)
    gone = directory.renew_connection("c=2", NOBODY, second, 2_000_000_007)

    assert (taken, gone) == (False, False)
    assert directory.connection("c=1") == Connection(first, 2_000_000_000)
    assert directory.connection("c=2") is None


def test_agents_are_listed_by_their_ids_page_by_page(directory: Directory) -> None:
    for name in ("c", "a", "b"):
        directory.put_agent("acme", replace(agent(), agent_id=name))
    directory.put_agent("zenith", agent())

    first = directory.agents("acme", "", 2)
    rest = directory.agents("acme", first.after, 2)

    line = AgentLine("a", "", 1_767_268_800_000)
    assert first == AgentPage((line, replace(line, agent_id="b")), "b")
    assert rest == AgentPage((replace(line, agent_id="c"),), "")
    assert directory.agents("nobody", "", 2) == AgentPage((), "")


def test_a_listed_agent_names_its_model(directory: Directory) -> None:
    directory.put_agent("acme", replace(agent(), definition={"model": "demo:demo"}))

    [line] = directory.agents("acme", "", 2).agents

    assert line.model == "demo:demo"
