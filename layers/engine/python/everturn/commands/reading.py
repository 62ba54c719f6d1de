"""Reads what a decision rests on: the path's window, the pinned config, the route; no decision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from everturn.commands.waiting_turns import orders_in, waiting_in
from everturn.errors import DefectError, StoreUnreadable
from everturn.llm.catalogue import CatalogueOf
from everturn.observability import logger
from everturn.ports.callers import Caller
from everturn.ports.directory import AgentRecord, Directory
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, Logged, SessionKey
from everturn.rejections import SessionQuarantined, UnknownAgent, UnknownSession
from everturn.session.budget import Budget, budgets_of
from everturn.session.events.decisions import DecisionDispatched
from everturn.session.events.messages import AgentUpdated, MessageNew, StateUpdated
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.events.tree import Stretch
from everturn.session.facts import Begun, Facts, PathMessage, Pinned, Route
from everturn.session.request import digest
from everturn.session.state import Session, Spent
from everturn.session.tree import active, forks, is_recent, ranges
from everturn.session.turn_model import models_of

BYTES_PER_READ: Final = 2 * 1024 * 1024
"""Messages of one answer: with room for JSON inside JSON in a Lambda answer of 6 MB."""

LAST_SEQ: Final = 10**12 - 1
"""The largest number of an event. Source: storage-and-commits, "Items"."""

EVENTS_PER_READ: Final = 2_000
"""Events that one step of a backward read spans; some hundred messages."""

AgentLookup = Callable[[str, str], AgentRecord | None]
"""Tenant and agent id to the agent as it stands now; may be some seconds old."""


BudgetLookup = Callable[[str, str], tuple[Budget, ...]]
"""Tenant and owner to the budgets that hold for both, with what was counted so far."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session as it was read: head, commits of the window, and what they mean to a decision."""

    head: Head
    logged: tuple[Logged, ...]
    """From the window's first event on, bodies in their places.

    Worker states that no longer hold still have their `refs` where they are in the bucket.
    """

    facts: Facts


class SessionReader:
    """Turns a head into the facts that a command needs, with one query in the common case."""

    def __init__(
        self,
        store: SessionStore,
        directory: Directory,
        agents: AgentLookup,
        catalogue_of: CatalogueOf,
        budgets: BudgetLookup = lambda _tenant, _owner_id: (),
    ) -> None:
        self._store = store
        self._budgets = budgets
        self._directory = directory
        self._agents = agents
        self._catalogue_of = catalogue_of

    def load(self, key: SessionKey, head: Head) -> Loaded:
        """Return the session behind `head`."""
        session = head.session
        is_whole = session.decides == "worker"  # it is sent the whole tree: Q-1
        from_seq = 1 if is_whole else session.window.from_seq
        read = self._store.log(key, 1, session.seq) if is_whole else self._path(key, session)
        logged = self._hydrated(key, head, read)
        agent = self._pinned(key, head, logged)
        path = path_of(logged, session, from_seq)
        facts = replace(
            self._facts(key.tenant, agent),
            path=path,
            inbox=waiting_in(logged),
            orders=orders_in(logged, session),
        )
        if is_whole:
            facts = replace(facts, events=dict(_numbered(logged)))
        facts = self.with_routes(facts, key.tenant, *(one.config for one in facts.orders.values()))
        return Loaded(head, logged, facts)

    def _path(self, key: SessionKey, session: Session) -> tuple[Logged, ...]:
        """Return the commits that hold the window, and what is under way: one query for each range.

        A session of one branch has one range.
        """
        wanted = [*ranges(session, session.window.from_seq)]
        open_seqs = {call.seq for call in session.calls}
        open_seqs |= {seq for one in session.inbox for seq in (one.seq, one.run_seq)}
        open_seqs |= {seq for one in session.decisions for seq in (one.seq, one.dispatched_seq)}
        for seq in sorted(open_seqs - {0}):
            if not any(low <= seq <= high for low, high in wanted):
                wanted.append((seq, seq))
        found = {
            commit.first_seq: commit
            for low, high in wanted
            for commit in self._store.log(key, low, high)
        }
        return tuple(found[first] for first in sorted(found))

    def for_new_session(self, tenant: str, agent_id: str) -> Facts:
        """Return the facts for a session that does not exist yet, with the agent as it stands now.

        Raises `UnknownAgent`.
        """
        record = self._directory.agent(tenant, agent_id)
        if record is None:
            raise UnknownAgent(
                f"There is no agent {agent_id}; create it with PUT /v1/agents/{agent_id}."
            )
        agent = pin(record)
        return self._facts(tenant, agent)

    def _facts(self, tenant: str, agent: Pinned) -> Facts:
        """Return what an agent says, with the routes of its models."""
        own = Facts(agent, self.route(tenant, agent.config))
        return self.with_routes(own, tenant, agent.config)

    def for_run(self, tenant: str, agent_id: str, config: Mapping[str, Any] | None) -> Facts:
        """Return the facts for a session that begins with a run, or to have some.

        It goes by `config`, and by the agent's own where there is none; tools are run by the
        agent's worker, if the agent is there. Raises `UnknownAgent` where nothing says what to do.
        """
        if config is None:
            return self.for_new_session(tenant, agent_id)
        record = self._directory.agent(tenant, agent_id)
        agent = Pinned(
            config,
            digest(config),
            has_worker=record is not None and bool(record.worker),
            worker_is_function=record is not None and record.worker_is_function,
        )
        return self._facts(tenant, agent)

    def with_routes(self, facts: Facts, tenant: str, *configs: Mapping[str, Any] | None) -> Facts:
        """Return `facts` with where the models of other configs lead."""
        models = {model for config in configs if config for model in models_of(config)}
        routes = {model: self.route(tenant, {"model": model}) for model in models}
        return replace(facts, routes={**facts.routes, **routes}) if routes else facts

    def with_budgets(
        self, facts: Facts, tenant: str, owner_id: str, charged: tuple[str, ...] = ()
    ) -> Facts:
        """Return `facts` with the budgets of owner, tenant and ancestors as they stand now.

        It makes no request for a tenant that has none, and one for each of the `charged` ancestors.
        Source: decision-protocol Y-4.
        """
        shared = self._budgets(tenant, owner_id)
        return replace(facts, budgets=(*shared, *self._ancestors_budgets(tenant, charged)))

    def _ancestors_budgets(self, tenant: str, charged: tuple[str, ...]) -> Iterator[Budget]:
        """Yield the budgets of ancestors, what descendants between used counted in."""
        between = Spent()
        for name in reversed(charged):
            key = SessionKey(tenant, name)
            head = self._store.head(key)
            if head is None:
                continue
            config = self._pinned(key, head, ()).config
            for one in budgets_of(head.session, config):
                yield replace(one, spent=one.spent.add(between), of=name)
            turn = head.session.turn
            between = between.add(Spent(turn.cost, turn.usage.tokens)) if turn else between

    def target_problem(self, tenant: str, owner_id: str, session_id: str) -> str | None:
        """Return why a session of that owner may not send there: one GetItem. Source: B-14."""
        head = self._store.head(SessionKey(tenant, session_id))
        if head is None:
            return "unknown_target"
        return None if head.session.owner_id == owner_id else "forbidden_target"

    def newest(
        self, key: SessionKey, session: Session, upto_seq: int, count: int
    ) -> tuple[tuple[PathMessage, ...], bool]:
        """Return the newest `count` messages of the path up to event `upto_seq`, oldest first, and
        whether there are older ones.

        Fewer where they are over `BYTES_PER_READ` together, but at least one.
        """
        found: list[PathMessage] = []
        size_bytes = 0
        for seq, event in self.backwards(key, self.active(key, session), upto_seq):
            if found and (len(found) == count or size_bytes >= BYTES_PER_READ):
                return tuple(found[::-1]), True
            found.append(to_path(seq, event))
            size_bytes += event.private.size_bytes
        return tuple(found[::-1]), False

    def nodes(
        self, key: SessionKey, upto_seq: int, count: int
    ) -> tuple[tuple[tuple[int, MessageNew], ...], bool]:
        """Return the newest `count` messages of all branches; else as `newest`."""
        found: list[tuple[int, MessageNew]] = []
        size_bytes = 0
        for seq, event in self._messages(key, 1, upto_seq):
            if found and (len(found) == count or size_bytes >= BYTES_PER_READ):
                return tuple(found[::-1]), True
            found.append((seq, event))
            size_bytes += event.private.size_bytes
        return tuple(found[::-1]), False

    def begun(self, key: SessionKey, numbers: Collection[int]) -> dict[int, Begun]:
        """Return how branches begin: one BatchGetItem, and one Query for each of them."""
        found = {}
        for number, seq in self._store.branches(key, numbers).items():
            for _, fork in forks(_numbered(self._store.log(key, seq, seq))):
                if fork.branch == number:
                    found[number] = Begun(seq, fork.stretches)
        return found

    def active(self, key: SessionKey, session: Session) -> tuple[Stretch, ...]:
        """Return what the active path consists of; two requests where the window is shorter."""
        if not session.is_cut:
            return active(session, session.stretches)
        return active(session, self.begun(key, [session.branch])[session.branch].stretches)

    def backwards(
        self, key: SessionKey, stretches: tuple[Stretch, ...], upto_seq: int = LAST_SEQ
    ) -> Iterator[tuple[int, MessageNew]]:
        """Yield the messages of a path with their numbers, newest first, as far as is asked."""
        for one in reversed(stretches):
            for seq, event in self._messages(key, one.from_seq, min(one.upto_seq, upto_seq)):
                place = event.private
                if place.branch == one.branch and place.depth <= one.upto_depth:
                    yield seq, event

    def _messages(
        self, key: SessionKey, from_seq: int, upto_seq: int
    ) -> Iterator[tuple[int, MessageNew]]:
        while upto_seq >= from_seq:
            low = max(from_seq, upto_seq - EVENTS_PER_READ + 1)
            logged = self._store.materialise(key, self._store.log(key, low, upto_seq))
            for seq, event in reversed([*_numbered(logged)]):
                if isinstance(event, MessageNew) and low <= seq <= upto_seq:
                    yield seq, event
            upto_seq = low - 1

    def tool_calls(self, key: SessionKey, head: Head) -> dict[str, ToolCallRequested]:
        """Return what asked for each open tool call, its arguments in their place."""
        asked = [call.seq for call in head.session.calls if call.kind == "tool_call"]
        if not asked:
            return {}
        logged = self._store.materialise(key, self._store.log(key, min(asked), max(asked)))
        return {
            event.id: event
            for commit in logged
            for _, event in commit.numbered()
            if isinstance(event, ToolCallRequested)
        }

    def route(self, tenant: str, config: Mapping[str, Any]) -> Route:
        """Return where the config's model selector leads in that tenant."""
        if not config.get("model"):
            return Route("", "")  # a worker that has not named one yet
        catalogue = self._catalogue_of(tenant)
        ref = catalogue.split(config["model"])
        facts = catalogue.facts(ref)
        return Route(ref.provider, ref.model, facts.context_window_tokens, facts.default_max_tokens)

    def _hydrated(
        self, key: SessionKey, head: Head, logged: tuple[Logged, ...]
    ) -> tuple[Logged, ...]:
        """Return `logged` with its bodies, states aside that no longer hold.

        Nobody decides on those, and each costs a GET of up to 2 MB; who shows them to readers
        has the store fill them in.
        """
        numbered = dict(_numbered(logged))
        needed = {head.session.state_seq} | {
            event.private.as_of.state_seq
            for event in (numbered.get(one.dispatched_seq) for one in head.session.decisions)
            if isinstance(event, DecisionDispatched) and event.private.as_of
        }
        aside = {
            seq: event
            for seq, event in numbered.items()
            if isinstance(event, StateUpdated) and event.refs and seq not in needed
        }
        if not aside:
            return self._store.materialise(key, logged)
        bare = {seq: event.model_copy(update={"refs": {}}) for seq, event in aside.items()}
        filled = self._store.materialise(key, [_with(commit, bare) for commit in logged])
        return tuple(_with(commit, aside) for commit in filled)

    def _pinned(self, key: SessionKey, head: Head, logged: tuple[Logged, ...]) -> Pinned:
        record = self._agents(key.tenant, head.session.agent_id)
        has_worker = record is not None and bool(record.worker)
        is_function = record is not None and record.worker_is_function
        seq = head.session.agent_seq
        if not seq:
            return Pinned({}, "", has_worker, is_function)  # the worker has named no config yet
        if record is not None and record.sha256 == head.session.agent_sha:
            return pin(record)
        version = self.agent_version(key, seq, logged)
        private = version.private
        return Pinned(version.agent, private.sha256, has_worker, is_function, private.layered)

    def agent_version(
        self, key: SessionKey, seq: int, logged: tuple[Logged, ...] = ()
    ) -> AgentUpdated:
        """Return the config of a version; `logged` is at hand. Raises `DefectError`."""
        if not any(commit.first_seq <= seq <= commit.last_seq for commit in logged):
            logged = self._store.materialise(key, self._store.log(key, seq, seq))
        for number, event in _numbered(logged):
            if number == seq and isinstance(event, AgentUpdated):
                return event
        raise DefectError(f"{key.session} has no agent config at event {seq}")


def _numbered(logged: tuple[Logged, ...]) -> Iterator[tuple[int, Event]]:
    for commit in logged:
        yield from commit.numbered()


def seen_by(caller: Caller, head: Head | None) -> Head:
    """Return `head` if its session is there for the caller. Source: decision-protocol A-5, O-13.

    Raises `UnknownSession`, the same for what is another's as for what is not there at all.
    """
    if head is None or not caller.reaches(head.session.owner_id):
        raise no_such_session()
    return head


@contextmanager
def unreadable_hidden(caller: Caller) -> Iterator[None]:
    """Hide a head that cannot be read from an owner: whose it is cannot be read either.

    Raises `UnknownSession` in place of what an API key is told.
    """
    try:
        yield
    except (SessionQuarantined, StoreUnreadable):
        if caller.owner is None:
            raise
        logger.exception("a session was hidden: its owner cannot be read")
        raise no_such_session() from None


def no_such_session() -> UnknownSession:
    """Return what is said of a missing session, and of one that is another's. Source: O-13."""
    return UnknownSession("There is no such session.")


def _with(commit: Logged, events: Mapping[int, Event]) -> Logged:
    """Return `commit` with other events at those numbers."""
    return replace(commit, events=tuple(events.get(seq, event) for seq, event in commit.numbered()))


def pin(record: AgentRecord) -> Pinned:
    """Return the part of an agent that a session pins. Source: decision-protocol O-23."""
    hidden = {"worker", "decides", "worker_secret"}
    config = {name: value for name, value in record.definition.items() if name not in hidden}
    return Pinned(
        config=config,
        sha256=record.sha256,
        has_worker=bool(record.worker),
        worker_is_function=record.worker_is_function,
        decides=record.definition.get("decides") or ("worker" if record.worker else "engine"),
    )


def path_of(logged: tuple[Logged, ...], session: Session, from_seq: int) -> tuple[PathMessage, ...]:
    """Return the active path's messages of commits whose bodies are in their places.

    Those from event `from_seq` on.
    """
    return tuple(
        to_path(number, event)
        for number, event in _numbered(logged)
        if isinstance(event, MessageNew)
        and number >= from_seq
        and is_recent(session, event.private.branch, event.private.depth)
    )


def to_path(seq: int, event: MessageNew) -> PathMessage:
    """Return a message as the core has it."""
    return PathMessage(seq, event.message, event.private.size_bytes, bool(event.private.is_error))
