"""What a reader fetches of a session whose large bodies are in the bucket: what it needs, once."""

from __future__ import annotations

from contract.store.conftest import Aws
from everturn.commands.reading import SessionReader
from everturn.ports.sessions import Head, SessionKey
from everturn.session.events.messages import StateUpdated
from everturn.session.events.shape import Anchor
from everturn.store.dynamo import DynamoSessionStore
from sample_events import commit, plain_turn
from unit.drive.world import World

LARGE = "x" * 20_000


def state(name: str) -> StateUpdated:
    """Return a version of a worker's state that goes to the bucket."""
    return StateUpdated(state={name: LARGE}, anchor=Anchor(branch=0, depth=1))


def reader_of(aws: Aws) -> tuple[SessionReader, DynamoSessionStore]:
    """Return a reader of a process that has read nothing yet, and its store."""
    store, world = aws.store(), World()
    return SessionReader(
        store, aws.directory(), lambda _tenant, _agent: None, world.catalogue_of
    ), store


def with_states(aws: Aws, key: SessionKey) -> Head:
    """Write a session whose worker wrote its state three times; return its head."""
    asked, answered = plain_turn(key.session)
    store = aws.store()
    head = store.append(commit(key, None, [*asked, *answered, state("first"), state("second")]))
    return store.append(commit(key, head, [state("third")]))


def test_of_a_workers_states_the_one_that_holds_is_fetched(aws: Aws, key: SessionKey) -> None:
    head = with_states(aws, key)
    reader, store = reader_of(aws)
    aws.s3.taken()

    loaded = reader.load(key, head)

    states = [e for c in loaded.logged for e in c.events if isinstance(e, StateUpdated)]
    assert aws.s3.taken() == ["get_object"]
    assert [bool(one.refs) for one in states] == [True, True, False]
    assert states[2].state == {"third": LARGE}
    shown = store.materialise(key, loaded.logged)
    filled = [e for c in shown for e in c.events if isinstance(e, StateUpdated)]
    assert [one.state for one in filled] == [{"first": LARGE}, {"second": LARGE}, {"third": LARGE}]
