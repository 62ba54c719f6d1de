"""The taxonomy of errors and what it means to HTTP, queue and log."""

import inspect

import pytest

from everturn import errors, rejections
from everturn.errors import (
    ConflictError,
    DefectError,
    EverturnError,
    IdsTaken,
    LeaseLost,
    NewerFormat,
    OutcomeUnknown,
    RejectedError,
    StoreRefused,
    StoreUnavailable,
    TerminalError,
    TransientError,
    VersionConflict,
    log_level,
    queue_outcome,
    to_http,
)
from everturn.rejections import InvalidJson, TurnAlreadyActive, UnknownRoute

FAMILIES = (RejectedError, ConflictError, TransientError, TerminalError, DefectError)

LEAVES = [
    thing
    for module in (errors, rejections)
    for _, thing in inspect.getmembers(module, inspect.isclass)
    if thing.__module__ == module.__name__
    and issubclass(thing, EverturnError)
    and thing not in (EverturnError, *FAMILIES)
]

REJECTED = [leaf for leaf in LEAVES if issubclass(leaf, RejectedError)]

STATUS_OF_CODE = {
    400: {
        "invalid_json",
        "invalid_grant",
        "invalid_scope",
        "unsupported_grant_type",
        "unsupported_token_type",
        "invalid_id",
        "invalid_message",
        "empty_messages",
        "invalid_llm_response",
        "schema_violation",
        "model_required",
        "invalid_handler",
        "format_requires_worker",
        "duplicate_tool_name",
        "invalid_answer",
        "invalid_tool_schema",
        "missing_call_id",
        "unknown_target",
        "forbidden_target",
        "multiple_done",
        "done_with_interrupt",
        "too_many_calls",
        "invalid_request",
        "invalid_model",
        "unsupported",
    },
    401: {"invalid_client", "token_expired", "unauthenticated"},
    403: {
        "insufficient_scope",
        "wrong_tenant",
        "not_owner",
        "wrong_handler",
        "insufficient_privilege",
        "role_not_allowed",
    },
    404: {
        "unknown_key",
        "unknown_tenant",
        "unknown_session",
        "unknown_agent",
        "unknown_budget",
        "unknown_call",
        "unknown_wait",
        "unknown_run",
        "unknown_tool_use",
        "unknown_item",
        "unknown_decision",
        "unknown_turn",
        "unknown_upload",
        "unknown_setting",
        "not_found",
    },
    405: {"method_not_allowed"},
    409: {
        "session_deleting",
        "turn_already_active",
        "session_interrupted",
        "call_not_open",
        "stale_attempt",
        "decision_not_live",
        "agent_mismatch",
        "no_active_turn",
        "run_terminal",
        "inbox_full",
        "session_cancelled",
        "session_quarantined",
    },
    413: {"too_large"},
    415: {"unsupported_media_type"},
    422: {"unknown_input"},
    429: {"too_many_requests"},
}


def test_every_code_has_the_status_of_the_protocol() -> None:
    found: dict[int, set[str]] = {}

    for leaf in REJECTED:
        found.setdefault(leaf.status, set()).add(leaf.code)

    assert found == STATUS_OF_CODE


def test_no_two_leaves_share_a_code() -> None:
    codes = [leaf.code for leaf in REJECTED]

    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("leaf", LEAVES)
def test_every_leaf_stands_in_exactly_one_family(leaf: type[EverturnError]) -> None:
    families = [family for family in FAMILIES if issubclass(leaf, family)]

    assert len(families) == 1


def test_a_rejection_shows_its_hint_and_fields() -> None:
    error = TurnAlreadyActive("turn t1 is open", hint="wait for turn.completed", turn_id="t1")

    answer = to_http(error)

    assert answer == (
        409,
        {
            "error": "turn_already_active",
            "code": "turn_already_active",
            "message": "turn t1 is open",
            "hint": "wait for turn.completed",
            "turn_id": "t1",
        },
    )


def test_a_rejection_without_hint_shows_none() -> None:
    answer = to_http(UnknownRoute("no such route"))

    assert answer == (
        404,
        {"error": "not_found", "code": "not_found", "message": "no such route"},
    )


def test_a_field_may_not_hide_the_code() -> None:
    with pytest.raises(ValueError, match="code"):
        InvalidJson("not JSON", code="other")


@pytest.mark.parametrize(
    ("error", "code", "retry_after"),
    [
        (VersionConflict("s1 moved past version 3"), "session_busy", 1),
        (LeaseLost("the lease of r1 is gone"), "session_busy", 1),
        (StoreUnavailable("DynamoDB did not answer"), "store_unavailable", 1),
        (StoreUnavailable("DynamoDB did not answer", retry_after_s=2.1), "store_unavailable", 3),
        (NewerFormat("format 9", retry_after_s=30), "newer_format", 30),
        (TransientError("later"), "unavailable", 1),
    ],
)
def test_what_may_work_later_is_a_503_that_hides_the_cause(
    error: EverturnError, code: str, retry_after: int
) -> None:
    answer = to_http(error)

    assert answer == (
        503,
        {
            "error": code,
            "code": code,
            "message": "nothing was recorded; repeat the same request later",
            "retry_after": retry_after,
        },
    )


@pytest.mark.parametrize(
    "error", [StoreRefused("ValidationException"), OutcomeUnknown("call c1"), KeyError("secret")]
)
def test_everything_else_is_a_500_that_says_nothing(error: Exception) -> None:
    answer = to_http(error)

    assert answer == (
        500,
        {
            "error": "internal",
            "code": "internal",
            "message": "the engine failed; the error is recorded",
        },
    )


@pytest.mark.parametrize(
    ("error", "queue", "level"),
    [
        (RejectedError("no"), "done", "info"),
        (ConflictError("again"), "retry", "warning"),
        (TransientError("later"), "retry", "warning"),
        (TerminalError("over"), "done", "warning"),
        (DefectError("impossible"), "retry", "exception"),
        (ValueError("not ours"), "retry", "exception"),
    ],
)
def test_the_family_decides_about_queue_and_log(error: Exception, queue: str, level: str) -> None:
    outcome = (queue_outcome(error), log_level(error))

    assert outcome == (queue, level)


def test_a_version_conflict_carries_the_head_that_won() -> None:
    fresh = {"version": 4}

    error = VersionConflict("s1 moved past version 3", head=fresh)

    assert (error.head, error.message, str(error)) == (
        fresh,
        "s1 moved past version 3",
        "s1 moved past version 3",
    )


def test_taken_ids_are_named() -> None:
    error = IdsTaken("1 id of s1 is taken", ids=frozenset({"m1"}))

    assert (error.ids, error.message) == (frozenset({"m1"}), "1 id of s1 is taken")


def test_a_leaf_of_a_leaf_keeps_code_and_status() -> None:
    class SpecialJson(InvalidJson):
        """A leaf below a leaf."""

    assert (SpecialJson.code, SpecialJson.status) == ("invalid_json", 400)
