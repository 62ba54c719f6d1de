"""A worker that decides, in plain Python: the standard library and nothing else.

It keeps one account. Small transfers are made at once, large ones when somebody has said yes, and
`/help` is answered without a model. All else is left to what the engine proposes.

    python3 plain.py [port]

`EVERTURN_WORKER_SECRET`: deliveries must be signed with it. Without it every caller is believed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HELP = "I tell your balance and send money. From 100.00 on I ask first."
ASKS_FROM_CENTS = 10_000
MAX_AGE_S = 300
MAX_BODY_BYTES = 16 * 1024 * 1024

SECRET = os.environ.get("EVERTURN_WORKER_SECRET", "").encode()

Json = dict[str, Any]


class Bank:
    """One account. A call that comes again is told what it was told the first time.

    That is what makes redelivery harmless. A real worker keeps these answers where it keeps the
    money, and writes both in one transaction.
    """

    def __init__(self, cents: int = 100_000) -> None:
        self.cents = cents
        self._answers: dict[str, Json] = {}
        self._guard = threading.Lock()

    def transfer(self, key: str, to: str, cents: int) -> Json:
        """Send money once for each key; return the action that says how it went."""
        with self._guard:
            if key not in self._answers:
                self._answers[key] = self._send(to, cents)
            return self._answers[key]

    def _send(self, to: str, cents: int) -> Json:
        if cents > self.cents:
            return failed(f"There are only {self.cents} cents.")
        self.cents -= cents
        return worked({"to": to, "sent": cents, "left": self.cents})


BANK = Bank()


def decide(request: Json) -> Json:
    """Return the decision response to a decision request."""
    trigger = request["trigger"]
    match trigger["type"]:
        case "client.messages" if text_of(trigger["messages"][-1]) == "/help":
            reply = {"role": "assistant", "content": HELP}
            messages = [*request["proposed"]["messages"], reply]
            return {"messages": messages, "actions": [{"type": "done", "data": HELP}]}
        case "tool.execute" if not request["proposed"]:
            return {"actions": [run(trigger, request["session_id"])]}
        case "interrupt.resumed":
            return {"actions": [resumed(request)]}
        case _:
            proposed: Json = request["proposed"]  # what the engine would do by itself
            return proposed


def run(call: Json, session_id: str) -> Json:
    """Return the action that answers a tool call, or the one that asks somebody first.

    The arguments fit the tool's schema here: where they do not, the engine proposes the error.
    """
    arguments = json.loads(call["arguments"])
    if call["name"] == "get_balance":
        return worked({"cents": BANK.cents})
    if arguments["cents"] < ASKS_FROM_CENTS:
        return BANK.transfer(f"{session_id}/{call['id']}", **arguments)
    return {
        "type": "interrupt",
        "interrupt_id": f"approve-{call['id']}",
        "reason": "approval",
        "payload": {"tool": call["name"], **arguments},
    }


def resumed(request: Json) -> Json:
    """Return the action that ends the call which waited for a yes."""
    interrupt_id = request["trigger"]["interrupt_id"]
    call = next(one for one in request["calls"] if f"approve-{one['id']}" == interrupt_id)
    said = request["trigger"].get("payload") or {}
    if said.get("approved") is not True:
        return {**failed("The user said no."), "id": call["id"]}
    answer = BANK.transfer(f"{request['session_id']}/{call['id']}", **json.loads(call["arguments"]))
    return {**answer, "id": call["id"]}


def worked(result: Any) -> Json:
    """Return the action of a tool that did its work."""
    return {"type": "tool.result", "result": result}


def failed(error: str) -> Json:
    """Return the action of a tool that did not; the model reads `error`."""
    return {"type": "tool.error", "error": error}


def text_of(message: Json) -> str | None:
    """Return what a message says, if that is text and nothing else."""
    content = message.get("content")
    return content.strip() if isinstance(content, str) else None


def vouches(signature: str, timestamp: str, body: bytes) -> bool:
    """Tell whether the two headers vouch for these very bytes, now."""
    if not SECRET:
        return True
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        return False
    signed = hmac.new(SECRET, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    is_fresh = abs(time.time() - int(timestamp)) <= MAX_AGE_S
    return is_fresh and hmac.compare_digest(b"sha256=" + signed.encode(), signature.encode())


class Handler(BaseHTTPRequestHandler):
    """HTTP around `decide`: 200 and a response, or a status that says why not."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Say that the worker is there."""
        self._send(200, {"ok": True})

    def do_POST(self) -> None:
        """Answer one delivery."""
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True  # the body is still to come
            return self._send(413, {"error": f"send at most {MAX_BODY_BYTES} bytes"})
        body = self.rfile.read(int(length))
        if not vouches(self._signed("signature"), self._signed("timestamp"), body):
            return self._send(401, {"error": "not signed with this worker's secret"})
        try:
            request = json.loads(body)
            request["trigger"]["type"]
        except (ValueError, KeyError, TypeError):
            return self._send(400, {"error": "no decision request"})
        return self._send(200, decide(request))

    def _signed(self, name: str) -> str:
        return self.headers.get(f"x-everturn-{name}", "")

    def _send(self, status: int, answer: Json) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a request line has no news."""


def main() -> None:
    """Serve until the process is told to stop."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8809
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
