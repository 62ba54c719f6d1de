"""One attempt of a call of Gemini at a server of a test.

It must not know which server that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from everturn.llm.assemble import Assembler
from everturn.llm.failure import ModelAborted, ModelFailed
from everturn.llm.providers.http_model import HttpModel
from everturn.ports.model import Account, Beside
from everturn.protocol.llm import LlmRequest
from providers.gemini_calls import FLASH_3, HELLO


def attempted(
    model: HttpModel,
    url: str,
    request: Mapping[str, Any],
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[Assembler, Exception | None]:
    """Return what one attempt read, and how it failed; `url` ends in the API's version."""
    asked = LlmRequest.model_validate({"model": FLASH_3, "messages": [HELLO], **request})
    account = Account(base_url=url, api_key="k-1", headers={"x-team": "a"})
    assembler = Assembler()
    try:
        for chunk in model.stream(
            asked, attempt=1, cancelled=cancelled, beside=Beside(account=account, timeout_s=10)
        ):
            assembler.feed(chunk)
    except (ModelFailed, ModelAborted) as error:
        return assembler, error
    return assembler, None
