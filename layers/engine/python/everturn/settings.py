"""What the environment says, read once at cold start; the only reader of `os.environ`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Settings(BaseModel):
    """Names and limits of one deployment; each function has the ones it needs."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    table: str = ""
    bucket: str = ""
    s3_endpoint: str = ""
    """Where callers reach S3: presigned URLs begin with it."""

    queue_url: str = ""
    step_machine_arn: str = ""
    websocket_endpoint: str = ""
    """URL of the `@connections` API."""

    token_secret: str = ""
    """Name or ARN of the secret in Secrets Manager that signs client tokens."""

    lease_seconds: int = Field(default=120, ge=1, le=900)
    worker_networks: Literal["public", "any"] = "public"
    worker_functions: str = ""
    """How the ARNs of Lambda functions begin that may be workers; empty where IAM alone knows."""

    demo_provider: Literal["on", "off"] = "on"
    default_provider: str = Field(default="bedrock", pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")
    """Route of a model selector that names none. Source: session-log O-7."""

    delivery_attempts: int = Field(default=10, ge=1, le=100)
    """Deliveries of one decision to a worker. Source: decision-protocol D-4."""

    runnable_seconds: int = Field(default=1200, ge=1)
    """How long a runnable session may go without a commit before `recovery` wakes it."""

    max_child_run_seconds: int = Field(default=0, ge=0, le=31_536_000)
    """How long a sub-agent may take for its parent; 0 for any time. Source: B-11."""


class SettingsMissing(Exception):
    """A variable that this function needs is not set, or is not what it must be."""


def read(environment: Mapping[str, str]) -> Settings:
    """Return the settings of `environment`, which are the variables that begin with `EVERTURN_`.

    Raises `SettingsMissing`, which names the variable, for a value that does not fit.
    """
    given = {
        name.removeprefix("EVERTURN_").lower(): value
        for name, value in environment.items()
        if name.startswith("EVERTURN_")
    }
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0]).upper()
        raise SettingsMissing(f"EVERTURN_{name}: {error.errors()[0]['msg']}") from None


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return this process's settings."""
    return read(os.environ)


def local_variable(name: str) -> str:
    """Return a variable that an agent names as its secret's place; empty unless we run locally."""
    return os.environ.get(name, "") if settings().worker_networks == "any" else ""


def needed(name: str) -> str:
    """Return the text of a setting that must be there. Raises `SettingsMissing`, which names it."""
    value = getattr(settings(), name)
    if not value:
        raise SettingsMissing(f"EVERTURN_{name.upper()} is not set")
    return str(value)
