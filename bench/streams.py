"""Providers that answer at once: each answer is written before it is asked for; thinks nothing.

`python -m bench.streams` serves on loopback and prints its port. A process of its own, so that what
the reader's process spends is the reader's.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

TOKENS: Final = 2000
PACED_TOKENS: Final = 500
PACE_S: Final = 0.001
"""Between two tokens of a paced answer: each arrives alone, as a provider's do."""

PACED: Final = "/paced"
"""The beginning of the path of an answer that is paced."""

WORDS: Final = (" Word", " by", " word", " it", " goes", " on", ",", ' "so"', " grüße", ".\n")
MODEL: Final = "bench-1"

_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\n"
    b"Content-Type: text/event-stream; charset=utf-8\r\n"
    b"Cache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
_END: Final = b"0\r\n\r\n"
_LENGTH: Final = b"content-length:"


def words(tokens: int) -> list[str]:
    """Return what an answer says, token by token."""
    return [WORDS[at % len(WORDS)] for at in range(tokens)]


def chat_frames(tokens: int) -> Iterator[str]:
    """Yield a chat completion as api.openai.com streams it."""
    common = {
        "id": "chatcmpl-C1kYb2p0h5v8w3x7",
        "object": "chat.completion.chunk",
        "created": 1893456000,
        "model": MODEL,
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
    }
    counts = {
        "prompt_tokens": 20,
        "completion_tokens": tokens,
        "total_tokens": 20 + tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _unnamed({**common, "choices": [choice], "usage": None, "obfuscation": "hG5kP"})

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for word in words(tokens):
        yield chunk({"content": word})
    yield chunk({}, "stop")
    yield _unnamed({**common, "choices": [], "usage": counts, "obfuscation": "qT"})
    yield "data: [DONE]\n\n"


def messages_frames(tokens: int) -> Iterator[str]:
    """Yield a message as api.anthropic.com streams it."""
    message: dict[str, Any] = {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 1},
    }
    yield _named({"type": "message_start", "message": message})
    block = {"type": "text", "text": ""}
    yield _named({"type": "content_block_start", "index": 0, "content_block": block})
    yield _named({"type": "ping"})
    for word in words(tokens):
        delta = {"type": "text_delta", "text": word}
        yield _named({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _named({"type": "content_block_stop", "index": 0})
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _named({"type": "message_delta", "delta": ended, "usage": {"output_tokens": tokens}})
    yield _named({"type": "message_stop"})


def responses_frames(tokens: int) -> Iterator[str]:
    """Yield a response as api.openai.com streams it."""
    said = "".join(words(tokens))
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": said}
    item = {"id": "msg_67c9fdcf", "type": "message", "role": "assistant"}
    began = {**item, "status": "in_progress", "content": []}
    ended = {**item, "status": "completed", "content": [part]}
    response = {
        "id": "resp_67c9fdcecf488190",
        "object": "response",
        "created_at": 1893456000,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": MODEL,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }
    counts = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 20 + tokens,
    }
    whole = {**response, "status": "completed", "output": [ended], "usage": counts}
    at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response},
        {"type": "response.in_progress", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": began},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        *(
            {
                "type": "response.output_text.delta",
                **at,
                "delta": word,
                "logprobs": [],
                "obfuscation": "Vw4mK2q",
            }
            for word in words(tokens)
        ),
        {"type": "response.output_text.done", **at, "text": said, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": ended},
        {"type": "response.completed", "response": whole},
    ]
    for number, event in enumerate(events):
        yield _named({"type": event["type"], "sequence_number": number, **event})


STREAMS: Final = {
    "/v1/chat/completions": chat_frames,
    "/v1/messages": messages_frames,
    "/v1/responses": responses_frames,
}


def main() -> None:
    """Serve until standard input ends."""
    answers = {path: _chunks(made(TOKENS)) for path, made in STREAMS.items()}
    answers |= {PACED + path: _chunks(made(PACED_TOKENS)) for path, made in STREAMS.items()}
    listening = socket.create_server(("127.0.0.1", 0))
    serving = threading.Thread(target=_accept, args=(listening, answers), daemon=True)
    serving.start()
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    sys.stdin.read()


def _accept(listening: socket.socket, answers: Mapping[str, list[bytes]]) -> None:
    while True:
        client, _ = listening.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_serve, args=(client, answers), daemon=True).start()


def _serve(client: socket.socket, answers: Mapping[str, list[bytes]]) -> None:
    """Answer one request after another on a connection."""
    with client:
        while path := _asked(client):
            pause_s = PACE_S if path.startswith(PACED) else 0.0
            client.sendall(_HEAD)
            for chunk in answers[path]:
                if pause_s:
                    time.sleep(pause_s)
                client.sendall(chunk)
            client.sendall(_END)


def _asked(client: socket.socket) -> str:
    """Read a request; return its path, empty where the connection has ended."""
    given = bytearray()
    while (end := given.find(b"\r\n\r\n")) < 0:
        more = client.recv(65536)
        if not more:
            return ""
        given += more
    head = bytes(given[:end])
    lengths = [line for line in head.splitlines() if line.lower().startswith(_LENGTH)]
    left = int(lengths[0][len(_LENGTH) :]) - (len(given) - end - 4)
    while left > 0:
        left -= len(client.recv(65536))
    return head.split(b" ", 2)[1].decode().partition("?")[0]


def _chunks(frames: Iterator[str]) -> list[bytes]:
    bodies = [frame.encode() for frame in frames]
    return [b"%x\r\n%b\r\n" % (len(body), body) for body in bodies]


def _unnamed(event: Mapping[str, Any]) -> str:
    return f"data: {_json(event)}\n\n"


def _named(event: Mapping[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {_json(event)}\n\n"


def _json(event: Mapping[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
