"""Signing secrets by the place where they are kept; none is ever stored or logged here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from everturn.errors import TransientError

CACHED_S: Final = 300
"""A rotated secret is used at the latest after this."""


class SecretUnavailable(TransientError, code="secret_unavailable"):
    """The place did not give the secret out."""


class SecretPlaces:
    """Reads secrets from Secrets Manager, Parameter Store or, locally, the environment."""

    def __init__(self, variable: Callable[[str], str]) -> None:
        """Take the reader of environment variables; one that knows none refuses `env` places."""
        self._variable = variable

    def __call__(self, place: Mapping[str, Any]) -> str:
        """Return the secret that `{secret_arn}`, `{ssm}` or `{env}` names. Source: O-23.

        Raises `SecretUnavailable`.
        """
        from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415  # only signed workers pay

        try:
            if place.get("secret_arn"):
                return str(parameters.get_secret(place["secret_arn"], max_age=CACHED_S))
            if place.get("ssm"):
                return str(parameters.get_parameter(place["ssm"], decrypt=True, max_age=CACHED_S))
        except parameters.GetParameterError as error:
            raise SecretUnavailable("the worker's signing secret could not be read") from error
        value = self._variable(place.get("env") or "")
        if not value:
            raise SecretUnavailable("the worker's signing secret is not set")
        return value
