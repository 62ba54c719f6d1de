"""Secrets by the place where they are kept; none is ever stored or logged here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from everturn.errors import SecretUnavailable

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider, SSMProvider

CACHED_S: Final = 300
"""A rotated secret is used at the latest after this."""


_BUSY: Final = frozenset({"ThrottlingException", "TooManyRequestsException"})


class SecretPlaces:
    """Reads secrets from Secrets Manager, Parameter Store or, locally, the environment."""

    def __init__(self, variable: Callable[[str], str], secrets: Any, ssm: Any) -> None:
        """Take the reader of environment variables; one that knows none refuses `env` places.

        The clients repeat what is throttled by themselves; nothing is asked of them before use.
        """
        self._variable = variable
        self._secrets = secrets
        self._ssm = ssm

    @cached_property
    def _in_secrets_manager(self) -> SecretsProvider:
        from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415  # only who has a secret pays

        return parameters.SecretsProvider(boto3_client=self._secrets)

    @cached_property
    def _in_parameter_store(self) -> SSMProvider:
        from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415  # only who has a secret pays

        return parameters.SSMProvider(boto3_client=self._ssm)

    def __call__(self, place: Mapping[str, Any]) -> str:
        """Return the secret that `{secret_arn}`, `{ssm}` or `{env}` names. Source: O-23.

        Raises `SecretUnavailable`.
        """
        arn, parameter = str(place.get("secret_arn") or ""), str(place.get("ssm") or "")
        if arn:
            return self._read(lambda: self._in_secrets_manager.get(arn, max_age=CACHED_S))
        if parameter:
            return self._read(
                lambda: self._in_parameter_store.get(parameter, decrypt=True, max_age=CACHED_S)
            )
        value = self._variable(place.get("env") or "")
        if not value:
            raise SecretUnavailable("the secret is not set")
        return value

    def _read(self, read: Callable[[], object]) -> str:
        from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415  # only who has a secret pays

        try:
            return str(read()).strip()  # a file with a key ends in a newline more often than not
        except parameters.GetParameterError as error:
            message = "the secret could not be read"
            passing = _is_passing(error.__context__)
            raise SecretUnavailable(message, retry_after_s=1.0 if passing else None) from error


def _is_passing(cause: BaseException | None) -> bool:
    """Return whether the same request may do better soon; what is missing or forbidden stays so."""
    response = getattr(cause, "response", None)
    if not isinstance(response, Mapping):
        return True  # no answer at all
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return code in _BUSY or status >= HTTPStatus.INTERNAL_SERVER_ERROR
