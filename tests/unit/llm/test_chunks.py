"""Stop reasons in the words of every vocabulary."""

import pytest

from everturn.llm.chunks import normal_finish


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("stop", "stop"),
        ("tool_use", "tool_calls"),
        ("tool-calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("tool_calls", "tool_calls"),
        ("max_tokens", "length"),
        ("max-tokens", "length"),
        ("length", "length"),
        ("refusal", "content_filter"),
        ("content_filter", "content_filter"),
        ("malformed_function_call", "malformed_function_call"),
    ],
)
def test_a_stop_reason_is_told_in_our_words_or_left_alone(theirs: str, ours: str) -> None:
    assert normal_finish(theirs) == ours
