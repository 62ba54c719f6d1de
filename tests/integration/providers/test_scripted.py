"""The scripted provider sends just what it is told, as clients of other makers see it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx
import pytest

from providers.clients import openai_client
from providers.frames import COMMENT, DONE, every_byte, frame, split
from providers.scripted import Answer, Ending, ScriptedProvider, json_answer, scripted_provider


def chunk(text: str) -> dict[str, object]:
    """Return a chunk of Chat Completions."""
    delta = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [delta],
    }


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=5, trust_env=False) as one:
        yield one


def said(provider: ScriptedProvider) -> list[str | None]:
    """Return the pieces that OpenAI's client reads."""
    with openai_client(f"{provider.url}/v1") as openai:
        stream = openai.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hello"}], stream=True
        )
        return [one.choices[0].delta.content for one in stream]


def test_a_request_is_noted_as_it_came(client: httpx.Client) -> None:
    with scripted_provider(json_answer(201, {"fine": True}, retry_after="3")) as provider:
        response = client.post(f"{provider.url}/v1/x?y=1", json={"ü": 1}, headers={"X-Key": "k"})
        asked = provider.next_asked()

    assert (response.status_code, response.json()) == (201, {"fine": True})
    assert response.headers["retry-after"] == "3"
    assert (asked.method, asked.path, asked.headers["x-key"]) == ("POST", "/v1/x?y=1", "k")
    assert asked.json == {"ü": 1}
    assert provider.asked == [asked]


def test_answers_follow_one_another_on_one_connection(client: httpx.Client) -> None:
    with scripted_provider(Answer((b"one",)), Answer((b"two",))) as provider:
        texts = [client.post(provider.url).text for _ in range(2)]

    assert texts == ["one", "two"]
    assert len(provider.asked) == 2


def test_pieces_arrive_as_they_are_split(client: httpx.Client) -> None:
    go = [threading.Event(), threading.Event()]
    text = "grün\r\n".encode()
    first, second, third = split(text, 3, len(text) - 1)
    answer = Answer((first, go[0], second, go[1], third))

    with scripted_provider(answer) as provider, client.stream("POST", provider.url) as response:
        seen = []
        for piece, event in zip(response.iter_raw(), [*go, threading.Event()], strict=True):
            seen.append(piece)
            event.set()

    assert seen == [b"gr\xc3", b"\xbcn\r", b"\n"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("whole", [True, False])
def test_an_official_client_reads_it_however_it_is_split(newline: str, whole: bool) -> None:
    body = b"".join([COMMENT, frame(chunk("Grün"), newline=newline), frame(chunk("?")), DONE])
    pieces = (body,) if whole else every_byte(body)

    with scripted_provider(Answer(pieces)) as provider:
        texts = said(provider)

    assert texts == ["Grün", "?"]


def test_an_end_without_a_last_frame_is_an_end() -> None:
    with scripted_provider(Answer((frame(chunk("Hi")),))) as provider:
        texts = said(provider)

    assert texts == ["Hi"]


@pytest.mark.parametrize(
    ("ending", "error"),
    [(Ending.CLOSED, httpx.RemoteProtocolError), (Ending.RESET, httpx.ReadError)],
)
def test_a_connection_is_cut_after_any_piece(
    client: httpx.Client, ending: Ending, error: type[Exception]
) -> None:
    go = threading.Event()

    with (
        scripted_provider(Answer((b"one", go), ending=ending)) as provider,
        client.stream("POST", provider.url) as response,
    ):
        pieces = response.iter_raw()
        first = next(pieces)
        go.set()
        with pytest.raises(error):
            next(pieces)

    assert first == b"one"


def test_a_silent_provider_runs_into_the_timeout_of_its_client() -> None:
    with (
        scripted_provider(Answer((b"one",), ending=Ending.SILENT)) as provider,
        httpx.Client(timeout=httpx.Timeout(5, read=0.1), trust_env=False) as client,
    ):
        with client.stream("POST", provider.url) as response:
            pieces = response.iter_raw()
            first = next(pieces)
            with pytest.raises(httpx.ReadTimeout):
                next(pieces)
        asked = provider.next_asked()

        assert asked.hung_up.wait(5)
    assert first == b"one"


def test_a_client_that_hangs_up_is_noticed(client: httpx.Client) -> None:
    answer = Answer((b"one", threading.Event(), b"two"))

    with scripted_provider(answer) as provider:
        with client.stream("POST", provider.url) as response:
            next(response.iter_raw())
        asked = provider.next_asked()

        assert asked.hung_up.wait(5)


def test_a_silent_provider_ends_with_its_test(client: httpx.Client) -> None:
    with (
        scripted_provider(Answer((b"one",), ending=Ending.SILENT)) as provider,
        client.stream("POST", provider.url) as response,
    ):
        pieces = response.iter_raw()
        first = next(pieces)
        provider.stop()
        with pytest.raises(httpx.RemoteProtocolError):
            next(pieces)

    assert first == b"one"
    assert not provider.next_asked().hung_up.is_set()


def test_what_is_not_in_the_script_fails_the_test(client: httpx.Client) -> None:
    with pytest.raises(AssertionError, match="not in the script"), scripted_provider() as provider:
        client.post(f"{provider.url}/v1/x")


def test_an_answer_left_over_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="never asked for: 1"), scripted_provider(Answer()):
        pass
