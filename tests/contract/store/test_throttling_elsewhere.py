"""Connections and secrets that are throttled, as the services word it."""

from __future__ import annotations

from typing import Any

import pytest

from contract.store.wire import Answer, Wire, error, plain_json
from everturn.errors import SecretUnavailable
from everturn.outbound.secret_places import SecretPlaces
from everturn.push.outcome import Sent, Throttled
from everturn.push.websocket import WebSocketPush
from everturn.wiring.clients import AWS, SECRETS


def connections(wire: Wire) -> WebSocketPush:
    return WebSocketPush(
        wire.client("apigatewaymanagementapi", endpoint_url="https://api.example.com/live")
    )


@pytest.mark.parametrize(
    "busy",
    [
        error(429, "", header=("x-amzn-errortype", "LimitExceededException")),
        Answer(429, b'{"message":"Too Many Requests"}'),
        Answer(429),
    ],
)
def test_a_throttled_connection_is_told_to_its_lane_at_once(busy: Answer) -> None:
    wire = Wire(Answer(200), busy)
    push = connections(wire)

    outcomes = [push.post("c", b"{}"), push.post("c", b"{}")]

    assert outcomes == [Throttled(), Sent()]
    assert len(wire.requests) == 2


SECRET = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:/everturn/worker"
SECRET_KINDS = [
    ({"secret_arn": SECRET}, plain_json(SecretString="s3cret", ARN=SECRET, Name="w")),
    ({"ssm": "/everturn/worker"}, plain_json(Parameter={"Name": "w", "Value": "s3cret"})),
]


def places(wire: Wire) -> SecretPlaces:
    return SecretPlaces(lambda _name: "", wire.client("secretsmanager"), wire.client("ssm"))


@pytest.mark.parametrize(("place", "then"), SECRET_KINDS)
@pytest.mark.parametrize(
    "busy",
    [
        error(400, "ThrottlingException"),
        error(400, "TooManyRequestsException"),
        error(500, "InternalServiceError"),
    ],
)
def test_a_secret_that_cannot_be_read_now_is_asked_for_again_later_and_then_kept(
    place: dict[str, str], then: Answer, busy: Answer
) -> None:
    wire = Wire(then, busy)
    read = places(wire)

    with pytest.raises(SecretUnavailable) as caught:
        read(place)
    secrets = [read(place), read(place)]

    assert caught.value.retry_after_s == 1.0
    assert "s3cret" not in str(caught.value)
    assert (secrets, len(wire.requests)) == (["s3cret"] * 2, 2)


@pytest.mark.parametrize(("place", "_then"), SECRET_KINDS)
@pytest.mark.parametrize("code", ["ResourceNotFoundException", "AccessDeniedException"])
def test_a_secret_that_is_not_there_or_not_ours_is_not_waited_for(
    place: dict[str, str], _then: Answer, code: str
) -> None:
    with pytest.raises(SecretUnavailable) as caught:
        places(Wire(_then, error(400, code)))(place)

    assert caught.value.retry_after_s is None


def test_a_key_that_was_stored_with_its_newline_is_the_key() -> None:
    stored = plain_json(Parameter={"Name": "k", "Value": "sk-1\n"})

    assert places(Wire(stored))({"ssm": "/everturn/k"}) == "sk-1"


def test_clients_of_a_deployment_repeat_what_is_throttled_and_wait_for_no_dead_service() -> None:
    configs: list[tuple[Any, int]] = [(AWS, 2), (SECRETS, 4)]
    for config, attempts in configs:
        assert config.retries == {"mode": "standard", "total_max_attempts": attempts}
        assert config.connect_timeout + config.read_timeout <= 4
