"""Frames -> API Gateway's @connections API, a request each; order and repetition lie elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from everturn.push.outcome import Failed, Gone, PushOutcome, Sent, Throttled, TooLarge

if TYPE_CHECKING:
    from mypy_boto3_apigatewaymanagementapi import ApiGatewayManagementApiClient

_GONE = frozenset({"GoneException", "410"})
_THROTTLED = frozenset(
    {"LimitExceededException", "ThrottlingException", "TooManyRequestsException", "429"}
)
_TOO_LARGE = frozenset({"PayloadTooLargeException", "413"})


class WebSocketPush:
    """Posts to connections of one WebSocket API. Threads may share it, as they may the client.

    The client must not retry by itself (`retries={"total_max_attempts": 1}`): a lane merges what a
    429 held back, which a hidden retry would send first. Its timeouts bound how long a dead
    connection occupies its lane.
    """

    def __init__(self, client: ApiGatewayManagementApiClient) -> None:
        self._client = client

    def post(self, connection_id: str, frame: bytes) -> PushOutcome:
        """Send one frame and say what became of it; raises nothing of botocore's.

        Source: API Gateway Management API, PostToConnection.
        """
        try:
            self._client.post_to_connection(ConnectionId=connection_id, Data=frame)
        except ClientError as error:
            return to_outcome(error)
        except BotoCoreError as error:  # timeout, refused connection
            return Failed(type(error).__name__)
        return Sent()

    def disconnect(self, connection_id: str) -> bool:
        """Close a connection whose reader has a gap, so that it comes back and asks for the rest.

        Returns whether it is closed; one that cannot be closed now is left alone. Source: E-6.
        """
        try:
            self._client.delete_connection(ConnectionId=connection_id)
        except ClientError as error:
            return to_outcome(error) == Gone()
        except BotoCoreError:  # timeout, refused connection
            return False
        return True


def to_outcome(error: ClientError) -> PushOutcome:
    """Read a refusal of the service by its code or, where it has none of its own, its status."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = str(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))
    told = {code, status}
    if told & _GONE:
        return Gone()
    if told & _THROTTLED:
        return Throttled()
    if told & _TOO_LARGE:
        return TooLarge()
    return Failed(code or status or "unknown")
