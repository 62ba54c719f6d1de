"""`Model` on Amazon Bedrock's ConverseStream; boto3 speaks, signs and connects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from everturn.llm.chunks import Chunk
from everturn.llm.providers.bedrock_answer import Answer
from everturn.llm.providers.bedrock_events import ConverseReader
from everturn.llm.providers.bedrock_failures import failure_of
from everturn.llm.providers.bedrock_request import final_tool, to_parameters
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.exchange import IDLE_S
from everturn.llm.providers.http_model import Asked, told
from everturn.outbound.connection import Watch
from everturn.ports.model import NOTHING_BESIDE, Beside
from everturn.protocol.llm import LlmRequest
from everturn.protocol.wire import to_json


class BedrockModel:
    """`Model` for all models of Bedrock; a role is all it needs."""

    def __init__(self, client_for: Callable[[str], Any], *, idle_s: float = IDLE_S) -> None:
        """Take what gives the `bedrock-runtime` client of a region, "" for the process's own.

        A client must not retry: one call is one attempt.
        """
        self._client_for = client_for
        self._idle_s = idle_s

    def stream(
        self,
        request: LlmRequest,
        *,
        attempt: int,  # noqa: ARG002  the same request, whichever attempt it is
        cancelled: Callable[[], bool],
        failed_tool_calls: frozenset[str] = frozenset(),
        beside: Beside = NOTHING_BESIDE,
    ) -> Iterator[Chunk]:
        """Yield the chunks of one attempt. Raises `ModelFailed`, `ModelAborted`."""
        asked = Asked(to_json(request), failed_tool_calls, beside)
        parameters, shape = to_parameters(asked)
        reasoning = asked.request.get("reasoning") or {}
        reader = ConverseReader(
            Blocks(
                shape.names,
                final_tool=final_tool(asked.request),
                shows_reasoning=not reasoning.get("exclude"),
            )
        )
        client = self._client(beside.account.region)
        answer = Answer(lambda: client.converse_stream(**parameters))
        try:
            yield from told(answer.events(Watch(beside.timeout_s, cancelled, self._idle_s)), reader)
            answer.drain()
        finally:
            answer.leave()

    def _client(self, region: str) -> Any:
        try:
            return self._client_for(region)
        except Exception as error:
            raise failure_of(error) from error
