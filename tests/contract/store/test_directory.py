"""What every `Directory` does, the fake and the table alike."""

from __future__ import annotations

from everturn.ports.directory import AgentRecord, ApiKey, Directory


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
    directory.put_connection("c=1", "acme", 2_000_000_000)
    directory.note_subscription("c=1", "s1", "a")
    directory.note_subscription("c=1", "s2", "b")

    directory.forget_subscription("c=1", "s1", "a")
    directory.forget_subscription("c=1", "s9", "z")
    directory.forget_subscription("c=2", "s1", "a")

    found = directory.connection("c=1")
    assert found == {"tenant": "acme", "sessions": [["s2", "b"]]}
    assert directory.connection("c=2") is None


def test_a_connection_remembers_its_subscriptions(directory: Directory) -> None:
    directory.put_connection("c=1", "acme", 2_000_000_000)
    for session, subscription in (("s2", "b"), ("s1", "a"), ("s2", "b")):
        directory.note_subscription("c=1", session, subscription)
    found = directory.connection("c=1")

    directory.delete_connection("c=1")
    directory.note_subscription("c=1", "s3", "c")

    assert found == {"tenant": "acme", "sessions": [["s1", "a"], ["s2", "b"]]}
    assert directory.connection("c=1") is None
