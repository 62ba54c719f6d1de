"""What Gemini's error bodies mean, by its real sentences."""

from __future__ import annotations

import json
from typing import Any

import pytest

from everturn.llm.failure import FailureCode
from everturn.llm.providers.exchange import Refused
from everturn.llm.providers.refusal import refused_request

TYPES = "type.googleapis.com/google.rpc"
KEY = {
    "code": 400,
    "message": "API key not valid. Please pass a valid API key.",
    "status": "INVALID_ARGUMENT",
    "details": [{"@type": f"{TYPES}.ErrorInfo", "reason": "API_KEY_INVALID"}],
}
QUOTA = {
    "code": 429,
    "message": "You exceeded your current quota. Please retry in 34.07s.",
    "status": "RESOURCE_EXHAUSTED",
    "details": [
        {"@type": f"{TYPES}.Help", "links": []},
        {"@type": f"{TYPES}.RetryInfo", "retryDelay": "34.07s"},
    ],
}
TOO_LONG = (
    "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
    "Unable to submit request because the input token count is 32770 but the model only supports"
    " up to 32768.",
)


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, KEY, FailureCode.AUTH),
        (403, {"code": 403, "message": "No.", "status": "PERMISSION_DENIED"}, FailureCode.AUTH),
        (429, QUOTA, FailureCode.RATE_LIMIT),
        (
            400,
            {"code": 400, "message": TOO_LONG[0], "status": "INVALID_ARGUMENT"},
            FailureCode.CONTEXT_WINDOW_EXCEEDED,
        ),
        (
            400,
            {"code": 400, "message": TOO_LONG[1], "status": "INVALID_ARGUMENT"},
            FailureCode.CONTEXT_WINDOW_EXCEEDED,
        ),
        (
            400,
            {
                "code": 400,
                "message": "Function call is missing a thought_signature in functionCall parts.",
                "status": "INVALID_ARGUMENT",
            },
            FailureCode.INVALID_REQUEST,
        ),
        (
            404,
            {"code": 404, "message": "models/x is not found.", "status": "NOT_FOUND"},
            FailureCode.INVALID_REQUEST,
        ),
        (499, {"code": 499, "message": "Gone.", "status": "CANCELLED"}, FailureCode.SERVER),
        (500, {"code": 500, "message": "Oh.", "status": "INTERNAL"}, FailureCode.SERVER),
        (503, {"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}, FailureCode.OVERLOADED),
        (
            504,
            {"code": 504, "message": "Late.", "status": "DEADLINE_EXCEEDED"},
            FailureCode.TIMEOUT,
        ),
    ],
)
@pytest.mark.parametrize("is_list", [False, True])
def test_an_error_body(
    status: int, error: dict[str, Any], code: FailureCode, is_list: bool
) -> None:
    body: Any = {"error": error}

    failed = refused_request(
        "Gemini", Refused(status, {}, json.dumps([body] if is_list else body).encode())
    )

    assert failed.code is code
    assert failed.status == status
    assert failed.provider_message == error["message"]
    assert failed.retry_after_s == (34.07 if error is QUOTA else None)
