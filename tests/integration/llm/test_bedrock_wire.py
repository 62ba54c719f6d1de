"""`BedrockModel` with boto3's client on loopback: what is sent, read, cut off and refused."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.assemble import Answer as Answered
from everturn.llm.assemble import assemble
from everturn.llm.chunks import Chunk, Finished, UsageReported
from everturn.llm.failure import FailureCode, ModelFailed
from integration.llm.converse_spoken import (
    BEGUN,
    COUNTED,
    ENDED,
    GREETING,
    HELLO,
    PATH,
    USED,
    call,
    calling,
    delta,
    stop,
    stream,
)
from providers.clients import bedrock_client
from providers.event_stream import event, exception, message
from providers.frames import split
from providers.scripted import Answer, Ending, json_answer, scripted_provider


def answered(answer: Answer, **request: Any) -> Answered:
    """Return what a call adds up to."""
    with scripted_provider(answer) as provider, bedrock_client(provider.url) as client:
        return assemble(calling(client, **request))


def failed(answer: Answer) -> ModelFailed:
    """Return how a call fails."""
    with pytest.raises(ModelFailed) as raised:
        answered(answer)
    return raised.value


def test_a_text_is_asked_for_and_read() -> None:
    with scripted_provider(stream(*HELLO)) as provider, bedrock_client(provider.url) as client:
        answer = assemble(calling(client))
        asked = provider.next_asked()

    assert (answer.content, answer.finish_reason, answer.usage) == (GREETING, "stop", USED)
    assert (asked.method, asked.path) == ("POST", PATH)
    assert asked.json == {
        "messages": [
            {
                "role": "user",
                "content": [{"text": "Hi."}, {"cachePoint": {"type": "default"}}],
            }
        ]
    }


def test_two_calls_at_once_are_read_each_for_itself() -> None:
    events = [
        BEGUN,
        call(0, "c1"),
        call(1, "c2"),
        delta(0, toolUse={"input": '{"a": '}),
        delta(1, toolUse={"input": '{"a": 2}'}),
        delta(0, toolUse={"input": "1}"}),
        stop(0),
        stop(1),
        event("messageStop", {"stopReason": "tool_use"}),
        COUNTED,
    ]

    answer = answered(stream(*events), tools=[{"name": "add", "description": "Adds."}])

    assert [(one.id, one.function.name, one.function.arguments) for one in answer.tool_calls] == [
        ("c1", "add", '{"a": 1}'),
        ("c2", "add", '{"a": 2}'),
    ]


def test_thinking_is_read_with_what_goes_back() -> None:
    events = [
        BEGUN,
        delta(0, reasoningContent={"text": "Hm."}),
        delta(0, reasoningContent={"signature": "c2ln"}),
        stop(0),
        delta(1, reasoningContent={"redactedContent": "c2VjcmV0"}),
        stop(1),
        delta(2, text="Hello."),
        stop(2),
        ENDED,
        COUNTED,
    ]

    answer = answered(stream(*events), reasoning={"effort": "low"})

    [thinking] = answer.reasoning
    assert (thinking.thinking, thinking.signature) == ("Hm.", "c2ln")
    assert '"c2VjcmV0"' in str(answer.blocks[1])


def test_pieces_of_the_stream_may_part_anything() -> None:
    whole = b"".join(HELLO)

    answer = answered(stream(*split(whole, *range(7, len(whole), 7))))

    assert (answer.content, answer.usage) == (GREETING, USED)


def test_events_that_nobody_knows_are_passed_over() -> None:
    odd = [
        event("mood", {"text": "fine"}),
        event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"hologram": {}}}),
    ]

    assert answered(stream(BEGUN, *odd, *HELLO[1:])).content == GREETING


@pytest.mark.parametrize("ending", [Ending.COMPLETE, Ending.CLOSED, Ending.RESET])
@pytest.mark.parametrize("cut", range(len(HELLO)))
def test_a_stream_that_ends_before_its_end_is_void(cut: int, ending: Ending) -> None:
    said: list[Chunk] = []
    answer = stream(*HELLO[:cut], ending=ending)
    is_whole = cut == len(HELLO) - 1

    with scripted_provider(answer) as provider, bedrock_client(provider.url) as client:
        if is_whole:
            said.extend(calling(client))
        else:
            with pytest.raises(ModelFailed) as raised:
                assemble(calling(client))
            assert raised.value.code in {FailureCode.NETWORK, FailureCode.STREAM_ENDED}

    assert [one for one in said if isinstance(one, Finished)] == [Finished("stop")] * is_whole
    assert not [one for one in said if isinstance(one, UsageReported)]


def test_an_event_whose_checksum_is_wrong_is_an_answer_that_cannot_be_read() -> None:
    spoiled = bytearray(HELLO[1])
    spoiled[-1] ^= 1

    assert failed(stream(BEGUN, bytes(spoiled))).code == FailureCode.SERVER


@pytest.mark.parametrize("body", [b"[]", b"7", b"{", b'{"delta": []}', b'{"delta": {"text": 7}}'])
def test_an_event_of_another_shape_does_no_harm(body: bytes) -> None:
    headers = {
        ":event-type": "contentBlockDelta",
        ":content-type": "application/json",
        ":message-type": "event",
    }

    failure = failed(stream(BEGUN, message(headers, body)))

    assert failure.code in {FailureCode.SERVER, FailureCode.STREAM_ENDED}


@pytest.mark.parametrize(
    ("kind", "told", "code"),
    [
        ("throttlingException", "Too many tokens, please wait.", FailureCode.RATE_LIMIT),
        ("modelStreamErrorException", "The model failed.", FailureCode.SERVER),
        ("serviceUnavailableException", "Later.", FailureCode.OVERLOADED),
        ("internalServerException", "Oops.", FailureCode.SERVER),
        ("validationException", "Odd.", FailureCode.INVALID_REQUEST),
        ("unheardOfException", "?", FailureCode.SERVER),
    ],
)
def test_an_error_inside_a_stream_is_told_by_its_type(
    kind: str, told: str, code: FailureCode
) -> None:
    failure = failed(stream(BEGUN, delta(0, text="Gr"), exception(kind, told)))

    assert (failure.code, failure.request_id) == (code, "r-1")
    if kind != "unheardOfException":  # of which botocore keeps nothing
        assert (failure.provider_code, failure.provider_message) == (kind, told)


@pytest.mark.parametrize(
    ("status", "kind", "told", "code"),
    [
        (403, "AccessDeniedException", "No access.", FailureCode.AUTH),
        (400, "ValidationException", "Input is too long.", FailureCode.CONTEXT_WINDOW_EXCEEDED),
        (400, "ValidationException", "isn't supported", FailureCode.INVALID_REQUEST),
        (404, "ResourceNotFoundException", "No such model.", FailureCode.INVALID_REQUEST),
        (408, "ModelTimeoutException", "Too slow.", FailureCode.TIMEOUT),
        (424, "ModelErrorException", "Failed.", FailureCode.SERVER),
        (429, "ThrottlingException", "Too many tokens.", FailureCode.RATE_LIMIT),
        (429, "ModelNotReadyException", "Not ready.", FailureCode.OVERLOADED),
        (500, "InternalServerException", "Oops.", FailureCode.SERVER),
        (503, "ServiceUnavailableException", "Later.", FailureCode.OVERLOADED),
    ],
)
def test_a_refusal_is_read_once_and_told(
    status: int, kind: str, told: str, code: FailureCode
) -> None:
    named = {"x-amzn-ErrorType": kind, "x-amzn-requestid": "r-2", "retry-after": "3"}

    failure = failed(json_answer(status, {"message": told}, **named))

    assert (failure.code, failure.status, failure.request_id) == (code, status, "r-2")
    assert (failure.provider_code, failure.provider_message) == (kind, told)
    assert failure.retry_after_s == 3


def test_a_refusal_that_is_no_json_is_told_by_its_status() -> None:
    page = Answer((b"<html>Bad Gateway</html>",), 502, {"content-type": "text/html"})

    assert failed(page).code == FailureCode.SERVER


def test_an_answer_of_200_that_is_no_stream_is_void() -> None:
    failure = failed(json_answer(200, {"message": "an error, but which?"}))

    assert failure.code in {FailureCode.SERVER, FailureCode.STREAM_ENDED}
