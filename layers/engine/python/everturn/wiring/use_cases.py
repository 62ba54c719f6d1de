"""Adapters to use cases; nothing is decided here.

Imports stand inside the functions: a Lambda pays at its cold start for what it uses, and no more.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

from everturn.settings import needed, settings
from everturn.wiring.adapters import (
    agent_lookup,
    budgets,
    commit_of,
    directory,
    forget_agent,
    forget_budgets,
    has_budgets,
    new_lanes,
    prompt_wake,
    revocations,
    runs,
    secret_places,
    store,
    tenant_record,
    tokens,
    wake,
)
from everturn.wiring.catalogues import models_of
from everturn.wiring.clients import CLOCK, INVOKE, SIGNING, late, tls
from everturn.wiring.providers import has_own_key, model_calls

if TYPE_CHECKING:
    from everturn.commands.agent_sessions import AgentSessions
    from everturn.commands.agents import Agents
    from everturn.commands.answer_later import SettleCalls, SubmitAnswer
    from everturn.commands.attempts import Attempts
    from everturn.commands.cancel import Cancels
    from everturn.commands.change import ChangeSession
    from everturn.commands.crossing import Crossing
    from everturn.commands.delete_session import DeleteSession, FinishDeletions
    from everturn.commands.fan_out_records import FanOutRecords
    from everturn.commands.inbox import Inbox
    from everturn.commands.interrupts import Interrupts
    from everturn.commands.list_models import ListModels
    from everturn.commands.list_sessions import ListSessions
    from everturn.commands.mint_token import MintToken
    from everturn.commands.oauth import OAuth
    from everturn.commands.read_events import ReadEvents
    from everturn.commands.read_run import ReadRun
    from everturn.commands.read_session import ReadSession
    from everturn.commands.reading import SessionReader
    from everturn.commands.recover import Recover
    from everturn.commands.resolve_wait import ResolveWait
    from everturn.commands.run_answers import RunAnswers
    from everturn.commands.run_specs import RunSpecs
    from everturn.commands.session_budgets import SessionBudgets
    from everturn.commands.shared_budgets import SharedBudgets
    from everturn.commands.start_run import StartRun
    from everturn.commands.submit_input import SubmitInput
    from everturn.commands.take_input import TakeInput
    from everturn.commands.uploads import Uploads
    from everturn.commands.wake_held import WakeHeld
    from everturn.drive.advance import AdvanceSession
    from everturn.store.uploads import S3Uploads
    from everturn.surfaces.callers import Callers


@lru_cache(maxsize=1)
def callers() -> Callers:
    """Return the finder of callers."""
    from everturn.surfaces.callers import Callers

    return Callers(directory(), CLOCK, tokens, revocations())


@lru_cache(maxsize=1)
def session_reader() -> SessionReader:
    """Return the reader of sessions."""
    from everturn.commands.reading import SessionReader
    from everturn.commands.shared_budgets import LookUpBudgets

    look_up = LookUpBudgets(budgets(), has_budgets, CLOCK)
    return SessionReader(store(), directory(), agent_lookup, models_of, look_up)


def attempts() -> Attempts:
    """Return a fresh budget."""
    from everturn.commands.attempts import Attempts

    return Attempts(time.monotonic, time.sleep)


def mint_token() -> MintToken:
    """Return the use case of client tokens."""
    from everturn.commands.mint_token import MintToken

    return MintToken(tokens, CLOCK)


def oauth() -> OAuth:
    """Return the use cases of OAuth."""
    from everturn.commands.oauth import OAuth

    return OAuth(directory(), revocations(), tokens, CLOCK)


def submit_input(by: str) -> SubmitInput:
    """Return the use case of inputs, signed by the function that runs it."""
    from everturn.commands.demo_switch import demo_allowed
    from everturn.commands.submit_input import SubmitInput

    return SubmitInput(
        store(),
        session_reader(),
        prompt_wake(),
        CLOCK,
        by=by,
        runnable_s=settings().runnable_seconds,
        check_route=demo_allowed(models_of, tenant_record),
        attempts=attempts,
        keep_uploads=uploads_kept().keep,
    )


def change_session(by: str) -> ChangeSession:
    """Return what changes sessions from outside a driver, signed by the function that does."""
    from everturn.commands.change import ChangeSession

    runnable_s = settings().runnable_seconds
    return ChangeSession(store(), session_reader(), prompt_wake(), CLOCK, by, runnable_s, attempts)


def settle_calls(by: str) -> SettleCalls:
    """Return the use case of calls that somebody outside ends."""
    from everturn.commands.answer_later import SettleCalls

    return SettleCalls(change_session(by))


def interrupts(by: str) -> Interrupts:
    """Return the use cases of interrupts."""
    from everturn.commands.interrupts import Interrupts

    return Interrupts(change_session(by))


def cancels(by: str) -> Cancels:
    """Return the use cases of turns and sessions that somebody stops."""
    from everturn.commands.cancel import Cancels

    return Cancels(change_session(by))


def session_budgets(by: str) -> SessionBudgets:
    """Return the use cases of a session's budgets."""
    from everturn.commands.session_budgets import SessionBudgets

    return SessionBudgets(change_session(by), wake_held())


def shared_budgets() -> SharedBudgets:
    """Return the use cases of the budgets of owners and tenants."""
    from everturn.commands.shared_budgets import SharedBudgets

    return SharedBudgets(budgets(), wake_held(), CLOCK, forget_budgets)


def wake_held() -> WakeHeld:
    """Return what has drivers look at sessions that a budget pauses."""
    from everturn.commands.wake_held import WakeHeld

    return WakeHeld(budgets(), store(), wake(), CLOCK)


def resolve_wait(by: str) -> ResolveWait:
    """Return the use case of questions that calls wait with."""
    from everturn.commands.resolve_wait import ResolveWait

    return ResolveWait(change_session(by))


def inbox(by: str) -> Inbox:
    """Return the use cases of messages that wait for turns of their own."""
    from everturn.commands.inbox import Inbox

    return Inbox(change_session(by), uploads_kept().keep)


def start_run(by: str) -> StartRun:
    """Return the use case of runs that begin."""
    from everturn.commands.demo_switch import demo_allowed
    from everturn.commands.start_run import StartRun

    check = demo_allowed(models_of, tenant_record)
    return StartRun(change_session(by), check, uploads_kept().keep)


def run_specs() -> RunSpecs:
    """Return the reader of specs."""
    from everturn.commands.run_specs import RunSpecs

    return RunSpecs(directory(), models_of)


def run_answers(by: str) -> RunAnswers:
    """Return the use cases of what is said of a run."""
    from everturn.commands.run_answers import RunAnswers

    return RunAnswers(change_session(by), runs())


def read_run() -> ReadRun:
    """Return the use case of runs that are read."""
    from everturn.commands.read_run import ReadRun

    return ReadRun(store(), runs(), CLOCK, time.sleep)


def agent_sessions(by: str) -> AgentSessions:
    """Return the use cases of sessions made for runs."""
    from everturn.commands.agent_sessions import AgentSessions

    return AgentSessions(change_session(by), runs())


def submit_answer(by: str) -> SubmitAnswer:
    """Return the use case of answers that workers send later."""
    from everturn.commands.answer_later import SubmitAnswer

    return SubmitAnswer(change_session(by))


def take_input(by: str) -> TakeInput:
    """Return the use case of all inputs."""
    from everturn.commands.take_input import TakeInput

    return TakeInput(submit_input(by), settle_calls(by), interrupts(by))


def read_session() -> ReadSession:
    """Return the use case of session reads."""
    from everturn.commands.read_session import ReadSession

    return ReadSession(store(), session_reader())


def list_sessions() -> ListSessions:
    """Return the use case of session lists."""
    from everturn.commands.list_sessions import ListSessions

    return ListSessions(store())


def delete_session() -> DeleteSession:
    """Return the use case of deletions."""
    from everturn.commands.delete_session import DeleteSession

    return DeleteSession(store(), CLOCK, time.monotonic)


@lru_cache(maxsize=1)
def finish_deletions() -> FinishDeletions:
    """Return recovery's part of deletions."""
    from everturn.commands.delete_session import FinishDeletions

    return FinishDeletions(store(), CLOCK, time.monotonic)


def read_events() -> ReadEvents:
    """Return the use case of event reads."""
    from everturn.commands.read_events import ReadEvents

    return ReadEvents(store(), CLOCK, time.sleep)


def agents() -> Agents:
    """Return the use cases of agents."""
    from everturn.commands.agents import Agents

    networks, functions = settings().worker_networks, settings().worker_functions
    return Agents(directory(), CLOCK, networks, forget_agent, models_of, functions)


def list_models() -> ListModels:
    """Return the use case of the list of models."""
    from everturn.commands.list_models import ListModels

    return ListModels(models_of, tenant_record, has_own_key)


def uploads() -> Uploads:
    """Return the use cases of uploads; their URLs begin where callers reach S3."""
    from everturn.commands.uploads import Uploads
    from everturn.store.uploads import S3Uploads

    client = late("s3", SIGNING, needed("s3_endpoint"))
    return Uploads(S3Uploads(client, needed("bucket")), CLOCK)


def uploads_kept() -> Uploads:
    """Return the use cases of uploads for who signs no URLs."""
    from everturn.commands.uploads import Uploads

    return Uploads(upload_places(), CLOCK)


def upload_places() -> S3Uploads:
    """Return the files of the bucket for who signs no URLs."""
    from everturn.store.uploads import S3Uploads

    return S3Uploads(late("s3"), needed("bucket"))


def crossing(by: str) -> Crossing:
    """Return what a driver does in other sessions."""
    from everturn.commands.crossing import Crossing
    from everturn.commands.demo_switch import demo_allowed

    return Crossing(change_session(by), demo_allowed(models_of, tenant_record))


@lru_cache(maxsize=1)
def advance_session() -> AdvanceSession:
    """Return the driver's use case."""
    from everturn.delivery.by_target import DeciderByTarget
    from everturn.delivery.deliver import WebhookDecider
    from everturn.delivery.lambda_function import LambdaDecider
    from everturn.drive.advance import AdvanceSession
    from everturn.drive.tools import Tools
    from everturn.session.commands import Deliveries

    limit_s = settings().max_child_run_seconds
    networks, functions = settings().worker_networks, settings().worker_functions
    invoker = LambdaDecider(late("lambda", INVOKE), functions)
    return AdvanceSession(
        Tools(
            store=store(),
            reader=session_reader(),
            agents=agent_lookup,
            wake=wake(),
            clock=CLOCK,
            models=model_calls(),
            decider=DeciderByTarget(WebhookDecider(networks, ssl_context=tls()), invoker),
            secrets=secret_places(),
            new_lanes=new_lanes,
            attempts=attempts,
            runnable_s=settings().runnable_seconds,
            crossing=crossing("driver"),
            uploads=upload_places(),
            functions=functions,
            deliveries=Deliveries(max_attempts=settings().delivery_attempts),
            max_child_run_s=limit_s or None,
        )
    )


@lru_cache(maxsize=1)
def fan_out() -> FanOutRecords:
    """Return the use case of the table's stream."""
    from everturn.commands.fan_out import FanOut
    from everturn.commands.fan_out_records import FanOutRecords

    fan_out = FanOut(store(), wake(), new_lanes, CLOCK.now_ms)
    return FanOutRecords(fan_out, commit_of, CLOCK, count=budgets().count)


@lru_cache(maxsize=1)
def recover() -> Recover:
    """Return the use cases of recovery."""
    from everturn.commands.recover import Recover

    runnable_s = settings().runnable_seconds
    return Recover(store(), session_reader(), wake(), CLOCK, runnable_s)
