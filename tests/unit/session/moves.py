"""Random walks through sessions: each move is one of those that are possible then. No test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from everturn.session.commands import ToolRefused
from everturn.session.propose import CallModel, DeliverToWorker, HandToMachine, propose
from everturn.session.waiting import Held
from unit.session.building import Story, made, usage
from unit.session.waiting import JOB, PENDING, SURE, answering, declining


def play(story: Story, moves: Sequence[int]) -> Story:
    """Make as many moves as there are numbers, each one of those that are possible then."""
    for move in moves:
        options = _options(story)
        options[move % len(options)](move)
    return story


def _options(story: Story) -> list[Callable[[int], object]]:
    if story.session.turn is None:
        return [lambda n: story.submit(f"question {n}"), lambda _: story.take_over()]
    options: list[Callable[[int], object]] = [
        story.proceed,
        lambda _: story.take_over(),
        lambda n: story.fail_turn() if n > LATE else story.proceed(),
    ]
    options += [_resolving(story, wait.id) for wait in story.session.waits]
    for effect in propose(story.session).effects:
        match effect:
            case CallModel():
                options += _model_moves(story)
            case DeliverToWorker(call_id=call_id):
                options += _worker_moves(story, call_id)
            case HandToMachine(call_id=call_id):
                options += [*_worker_moves(story, call_id), _taking_back(story, call_id)]
    return options


LATE = 50
"""Moves from here on are rare ones."""

NAMES = ("get_weather", "set_alarm", "send_email", "undeclared")


def _resolving(story: Story, wait_id: str) -> Callable[[int], object]:
    return lambda n: (answering if n % 2 else declining)(story, wait_id, str(n))


def _taking_back(story: Story, call_id: str) -> Callable[[int], object]:
    return lambda _: story.deliver_directly(call_id)


def _goes_on(story: Story, call_id: str) -> Held:
    return PENDING if story.delivery(call_id).trigger == "tool.poll" else JOB


def _model_moves(story: Story) -> list[Callable[[int], object]]:
    def calls(n: int) -> list[dict[str, Any]]:
        return [made("call_0" if n % 2 else "", NAMES[(n + i) % 4]) for i in range(n % 5)]

    return [
        lambda n: story.answer(f"answer {n}", *calls(n), usage=usage(n), cost="0.0000001"),
        lambda n: story.answer("", *calls(n + 1)),
        lambda n: story.answer("cut", *calls(n), finish="length"),
        lambda n: story.fail_model(retryable=n < LATE),
    ]


def _worker_moves(story: Story, call_id: str) -> list[Callable[[int], object]]:
    return [
        lambda n: story.worker(call_id, f"result {n}", state={"n": n}, has_state=n % 3 == 0),
        lambda n: story.worker(call_id, ToolRefused("no", retryable=n % 2 == 0)),
        lambda n: story.lose(call_id, started="unknown" if n % 2 else "no", invalid=n > LATE),
        lambda n: story.worker(call_id, SURE if n % 2 else _goes_on(story, call_id)),
    ]
