"""Where a secret is kept: a reference, never the secret. It must not read one."""

from typing import Final, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from everturn.protocol.wire import Maybe, WireModel

KEY_BEGINNINGS: Final = ("sk-", "sk_", "AIza", "gsk_", "xai-", "ABSK", "Bearer ")
"""How the keys of providers begin, and no ARN, no name of a parameter and no variable does."""


class SecretPlace(WireModel):
    """Where a secret is; exactly one field. Source: decision-protocol O-23."""

    secret_arn: Maybe[str] = None
    """ARN or name in Secrets Manager."""

    ssm: Maybe[str] = None
    """Name in Parameter Store."""

    env: Maybe[str] = None
    """Variable of the local runtime; a deployed engine reads none."""

    @model_validator(mode="after")
    def _names_one_place(self) -> Self:
        names = list(type(self).model_fields)
        given = [value for name in names if (value := getattr(self, name))]
        if len(given) != 1:
            raise PydanticCustomError(
                "secret_place", "needs exactly one of {names}", {"names": ", ".join(names)}
            )
        if is_like_a_key(str(given[0])):
            raise PydanticCustomError(
                "secret_place",
                "looks like a key itself; put the key into Secrets Manager or Parameter Store, "
                "and name its place here",
            )
        return self


def is_like_a_key(text: str) -> bool:
    """Return whether `text` begins as a provider's key does."""
    return text.startswith(KEY_BEGINNINGS)
