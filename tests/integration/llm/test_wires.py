"""Wires over loopback: whole answers, broken ones, refusals, and calls broken off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from everturn.llm.assemble import assemble
from everturn.llm.chunks import UsageReported
from everturn.llm.failure import FailureCode, ModelAborted
from integration.llm.calling import Caller, Heard, calling
from integration.llm.spoken import ALL, TEXT, USAGE, Spoken
from providers.frames import COMMENT, every_byte
from providers.scripted import Answer, Ending, ScriptedProvider, json_answer, scripted_provider

CUTS = [(name, cut) for name, one in ALL.items() for cut in range(len(one.text) + 1)]
TOOL = {"name": "add", "description": "Adds."}

Serve = Callable[..., tuple[ScriptedProvider, Caller]]


@pytest.fixture(params=ALL)
def spoken(request: pytest.FixtureRequest) -> Spoken:
    """Return each wire."""
    return ALL[request.param]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Give what serves answers and opens a caller of them; at the end all have been asked for."""
    with ExitStack() as opened:

        def open_one(spoken: Spoken, *answers: Answer) -> tuple[ScriptedProvider, Caller]:
            provider = opened.enter_context(scripted_provider(*answers))
            return provider, opened.enter_context(calling(spoken.wire, provider.url + spoken.base))

        yield open_one


def pieces_of(frames: tuple[bytes, ...], how: str) -> tuple[bytes, ...]:
    """Return frames as a server might send them."""
    whole = b"".join(frames)
    match how:
        case "bytes":
            return every_byte(whole)
        case "crlf":
            return (whole.replace(b"\n", b"\r\n"),)
        case "comments":
            return tuple(piece for one in frames for piece in (COMMENT, one))
        case _:
            return frames


@pytest.mark.parametrize("how", ["frames", "bytes", "crlf", "comments"])
def test_text(spoken: Spoken, serve: Serve, how: str) -> None:
    provider, caller = serve(spoken, Answer(pieces_of(spoken.text, how)))

    told = assemble(caller.hear().chunks)

    assert (told.content, told.finish_reason, told.usage) == (TEXT, "stop", USAGE)
    asked = provider.next_asked()
    assert (asked.method, asked.path) == ("POST", spoken.path)
    name, key = spoken.key
    assert asked.headers[name] == key
    assert asked.json["stream"] is True


def test_thinking_text_and_two_calls(spoken: Spoken, serve: Serve) -> None:
    _, caller = serve(spoken, Answer(spoken.rich))

    told = assemble(caller.hear(tools=[TOOL]).chunks)

    assert told.blocks == spoken.blocks
    assert told.finish_reason == "tool_calls"


def test_a_connection_serves_one_call_after_another(spoken: Spoken, serve: Serve) -> None:
    _, caller = serve(spoken, *[Answer(spoken.text)] * 3)

    assert [assemble(caller.hear().chunks).content for _ in range(3)] == [TEXT] * 3


@pytest.mark.parametrize("ending", [Ending.CLOSED, Ending.RESET, Ending.COMPLETE])
@pytest.mark.parametrize(("name", "cut"), CUTS)
def test_a_cut_answer_is_none_and_a_whole_one_is(
    name: str, cut: int, ending: Ending, serve: Serve
) -> None:
    spoken, heard = ALL[name], Heard()
    is_whole = cut >= spoken.whole_from
    pieces = spoken.text[:cut]
    if cut < len(spoken.text):
        pieces = (*pieces, spoken.text[cut][:-1])
    _, caller = serve(spoken, Answer(pieces, ending=ending))

    failed = caller.failure(heard)

    assert heard.is_finished is is_whole
    used = [one.usage for one in heard.chunks if isinstance(one, UsageReported)]
    assert len(used) <= 1
    assert (USAGE in used) is (cut >= spoken.used_from)
    if is_whole:
        assert failed is None
        assert assemble(heard.chunks).content == TEXT
    elif ending is not Ending.COMPLETE:
        assert failed is not None
        assert failed.code == FailureCode.NETWORK


def test_what_follows_the_last_mark_is_not_waited_for(spoken: Spoken, serve: Serve) -> None:
    _, caller = serve(spoken, Answer(spoken.text, ending=Ending.SILENT))
    began = time.monotonic()

    told = assemble(caller.hear().chunks)

    assert told.content == TEXT
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (429, {"code": "rate_limit_exceeded", "message": "x"}, FailureCode.RATE_LIMIT),
        (429, {"code": "insufficient_quota", "message": "x"}, FailureCode.AUTH),
        (400, {"code": "context_length_exceeded", "message": "x"}, "CONTEXT_WINDOW_EXCEEDED"),
        (400, {"type": "invalid_request_error", "message": "x"}, FailureCode.INVALID_REQUEST),
        (401, {"code": "invalid_api_key", "message": "x"}, FailureCode.AUTH),
        (404, {"code": "model_not_found", "message": "x"}, FailureCode.INVALID_REQUEST),
        (500, {"type": "server_error", "message": "x"}, FailureCode.SERVER),
        (503, {"message": "x"}, FailureCode.OVERLOADED),
        (503, {"type": "server_error", "message": "x"}, FailureCode.OVERLOADED),
        (529, {"message": "x"}, FailureCode.OVERLOADED),
        (200, {"code": "rate_limit_exceeded", "message": "x"}, FailureCode.RATE_LIMIT),
        (200, {"message": "x"}, FailureCode.SERVER),
    ],
)
def test_refusals(
    spoken: Spoken, serve: Serve, status: int, error: dict[str, str], code: str
) -> None:
    refusal = json_answer(status, {"error": error}, retry_after="7", x_request_id="req_1")
    _, caller = serve(spoken, refusal)

    failed = caller.failure()

    assert failed is not None
    assert (failed.code, failed.status, failed.retry_after_s) == (code, status, 7)
    assert (failed.request_id, failed.provider_message) == ("req_1", "x")


def test_an_error_within_a_stream(spoken: Spoken, serve: Serve) -> None:
    heard = Heard()
    _, caller = serve(spoken, Answer((*spoken.text[: spoken.whole_from - 1], spoken.error)))

    failed = caller.failure(heard)

    assert failed is not None
    assert failed.code == FailureCode.RATE_LIMIT
    assert not heard.is_finished


@pytest.mark.parametrize("frames", [0, 3])
def test_a_call_that_is_broken_off(spoken: Spoken, serve: Serve, frames: int) -> None:
    provider, caller = serve(spoken, Answer(spoken.text[:frames], ending=Ending.SILENT))
    heard, began = Heard(), list[float]()

    def break_off() -> None:
        provider.next_asked()
        if frames:
            assert heard.arrived.wait(5)
        began.append(time.monotonic())
        caller.cancelled.set()

    breaking = threading.Thread(target=break_off)
    breaking.start()
    with pytest.raises(ModelAborted):
        caller.hear(heard)
    took_s = time.monotonic() - began[0]
    breaking.join()

    assert took_s < 1
    assert not heard.is_finished


def test_a_server_that_says_nothing(spoken: Spoken, serve: Serve) -> None:
    _, caller = serve(spoken, Answer(spoken.text[:2], ending=Ending.SILENT))

    failed = caller.failure(timeout_s=0.3)

    assert failed is not None
    assert failed.code == FailureCode.TIMEOUT


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-\u2019quoted"])
def test_a_key_that_no_header_can_carry_is_said_and_not_shown(spoken: Spoken, key: str) -> None:
    with calling(spoken.wire, "http://127.0.0.1:9", key) as caller:
        failed = caller.failure()

    assert failed is not None
    assert (failed.code, "sk-" in str(failed)) == (FailureCode.AUTH, False)
