"""The harness finds what is wrong: each deployment here breaks one rule, and is found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from everturn.ports.sessions import Logged, SessionKey
from everturn.push.frames import Push
from faults.checks import violations
from faults.cluster import Cluster
from faults.functions import Functions
from faults.outside import DyingLanes, Workers
from faults.process import Fate, Process
from faults.scenario import Scenario
from faults.sources import Message, Queue

PLAIN = Scenario("a plain turn", ("[[say:all is well]]",))
UNWOKEN = replace(PLAIN, lost=frozenset({"wake-up"}))
WRITE = Scenario("a write", ("[[call:send {}]][[turn]][[say:sent it]]",))


class DeafFanout(Functions):
    """Nobody hears of the stream's records."""

    def fanout(
        self, process: Process, key: SessionKey, commits: Sequence[Logged]
    ) -> Exception | None:
        del process, key, commits
        return None


class SilentLanes(DyingLanes):
    """Nothing arrives."""

    def push(self, connection_id: str, push: Push) -> bool:
        del connection_id, push
        return True


class Silent(Functions):
    """Readers are pushed nothing."""

    def _lanes(self, process: Process, key: Any) -> DyingLanes:
        del process, key
        return SilentLanes(self.connections.post, lambda _connection: None, lazy=False)


class ForgetfulQueue(Queue):
    """A message is gone once it was received."""

    def receive(self, now_ms: int) -> Message | None:
        message = super().receive(now_ms)
        if message is not None:
            self._messages.remove(message)
        return message


class EagerWorkers(Workers):
    """Whatever is asked once is done twice."""

    def answer(self, request: Any) -> Any:
        super().answer(request)
        return super().answer(request)


def functions(kind: type[Functions]) -> Callable[[Cluster], None]:
    def replaced(run: Cluster) -> None:
        run.functions = kind(run.world, run.scenario, run.connections, run.workers)

    return replaced


def forget(run: Cluster) -> None:
    run.queue = ForgetfulQueue()


def work_twice(run: Cluster) -> None:
    run.workers = run.functions.workers = EagerWorkers()


@pytest.mark.parametrize(
    ("scenario", "fate", "broken", "seen"),
    [
        (UNWOKEN, Fate(), functions(DeafFanout), "the sweep had to find it"),
        (PLAIN, Fate(), functions(Silent), "a reader knows 14 events, up to 14"),
        (PLAIN, Fate(kill_at=110), forget, "the sweep had to find it"),
        (WRITE, Fate(), work_twice, "was started 2 times"),
    ],
)
def test_a_deployment_that_breaks_a_rule_is_found_out(
    scenario: Scenario, fate: Fate, broken: Callable[[Cluster], None], seen: str
) -> None:
    undisturbed, run = Cluster(scenario).to_quiescence(), Cluster(scenario, fate)
    broken(run)

    found = violations(run.to_quiescence(), undisturbed)

    assert violations(undisturbed, undisturbed) == []
    assert seen in "\n".join(found)
