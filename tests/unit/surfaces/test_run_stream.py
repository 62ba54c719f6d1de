"""Agent-runs, "Transport" and "The stream": who may follow a run, from where, and what is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from everturn.errors import StoreUnavailable
from everturn.ports.directory import ApiKey
from everturn.protocol.api_keys import hash_of
from everturn.runs.frames import NOTHING_NEW
from everturn.store.memory_directory import InMemoryDirectory
from everturn.store.memory_revocations import InMemoryRevocations
from everturn.surfaces.callers import Callers
from everturn.surfaces.http_reader import ReaderApi
from everturn.surfaces.http_runs import RunStreamApi
from everturn.tokens.jwt_tokens import JwtTokens
from unit.commands.running import RunCase
from unit.drive.world import TENANT
from unit.tokens.fixed_keys import FixedKeys

KEY = {"X-API-Key": "key-of-acme"}
PATH = "/api/v1/workspaces/{slug}/agent-runs/{run_id}/stream"


class Reader:
    """The route of a deployment in memory with one run."""

    def __init__(self, directory: InMemoryDirectory | None = None) -> None:
        self.case = RunCase()
        self.run = self.case.start("[[say:Hi]]")
        directory = directory or self.case.world.directory
        directory.put_api_key(hash_of("key-of-acme"), ApiKey(TENANT, "main"))
        tokens = JwtTokens(FixedKeys())
        callers = Callers(directory, self.case.world.clock, lambda: tokens, InMemoryRevocations())
        self.api = RunStreamApi(callers, self.case.read())

    def __call__(
        self,
        *,
        headers: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
        **path: str,
    ) -> dict[str, Any]:
        named = {"slug": TENANT, "run_id": self.run, **path}
        event: dict[str, Any] = {"headers": {**KEY, **(headers or {})}, "pathParameters": named}
        return self.api(event if query is None else event | {"queryStringParameters": query})

    def seqs(self, **how: Any) -> list[int]:
        lines = self(**how)["body"].split("\n")
        return [int(line.removeprefix("id: ")) for line in lines if line.startswith("id: ")]


def code_of(answer: dict[str, Any]) -> tuple[int, str]:
    return answer["statusCode"], json.loads(answer["body"])["code"]


def test_a_run_is_streamed_as_events_that_nobody_keeps() -> None:
    answer = Reader()()

    assert answer["statusCode"] == 200
    assert answer["headers"] == {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
    }
    assert answer["body"].split("\n")[1] == "event: started"


def test_a_stream_that_has_nothing_to_tell_says_so() -> None:
    answer = Reader()(query={"lastSeq": "9" * 18})

    assert (answer["statusCode"], answer["body"]) == (200, NOTHING_NEW)


def test_a_client_may_say_in_two_places_what_it_has_seen_and_the_larger_one_counts() -> None:
    reader = Reader()
    reader.case.world.advance()
    first, second, *rest = (one.seq for one in reader.case.all_frames(reader.run))

    assert reader.seqs() == [first, second, *rest]
    assert reader.seqs(query={"lastSeq": str(first)}) == [second, *rest]
    assert reader.seqs(headers={"Last-Event-ID": str(first)}) == [second, *rest]
    both = {"query": {"lastSeq": str(first)}, "headers": {"last-event-id": str(second)}}
    assert reader.seqs(**both) == rest
    assert reader.seqs(query={"lastSeq": ""}, headers={"Last-Event-ID": ""})[0] == first


@pytest.mark.parametrize("told", ["-1", "x", "1.5", "²", "1" * 19])
def test_what_is_no_cursor_is_refused(told: str) -> None:
    reader = Reader()

    answers = [reader(query={"lastSeq": told}), reader(headers={"Last-Event-ID": told})]

    assert [code_of(one) for one in answers] == [(400, "invalid_request")] * 2
    assert "lastSeq" in answers[0]["body"]


def test_a_directory_that_is_busy_has_the_client_come_back_and_does_not_end_its_run() -> None:
    class Busy(InMemoryDirectory):
        """Cannot be asked for keys."""

        def api_key(self, sha256: str) -> ApiKey | None:
            raise StoreUnavailable(f"no answer about {sha256}")

    reader = Reader(Busy())
    began = reader.case.world.clock.now

    answer = reader()

    assert (answer["statusCode"], answer["body"]) == (200, NOTHING_NEW)
    assert reader.case.world.clock.now > began


def test_another_workspace_is_not_there_and_the_caller_is_told_what_is_meant() -> None:
    answer = Reader()(slug="rival")

    assert code_of(answer) == (404, "not_found")
    assert json.loads(answer["body"])["hint"]


@pytest.mark.parametrize("run_id", ["none", "not an id", ""])
def test_a_run_that_is_not_there_is_unknown(run_id: str) -> None:
    assert code_of(Reader()(run_id=run_id)) == (404, "unknown_run")


def test_nobody_is_told_anything_without_a_credential() -> None:
    answer = Reader()(headers={"X-API-Key": "wrong"})

    assert code_of(answer) == (401, "unauthenticated")


def test_the_reader_hands_each_request_to_the_surface_of_its_route() -> None:
    api = ReaderApi(lambda _event: {"is": "events"}, lambda _event: {"is": "run"})

    told = [
        api({"routeKey": f"GET {PATH}"}),
        api({"routeKey": "GET /v1/sessions/{session_id}/events"}),
        api({}),
    ]

    assert [one["is"] for one in told] == ["run", "events", "events"]
