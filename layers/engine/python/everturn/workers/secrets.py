"""How the secret behind a reference is asked for; fetching it is the business of the wiring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

ResolveSecret = Callable[[Mapping[str, Any]], str]
"""`{"secret_arn": …}`, `{"ssm": …}` or, locally, `{"env": …}` -> the secret.

It raises a `TransientError` when the store of secrets does not answer, a `TerminalError` when there
is no such secret. Source: decision-protocol O-23.
"""
