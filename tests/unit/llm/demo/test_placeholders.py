"""What the placeholders of `say` show."""

import pytest

from everturn.llm.assemble import assemble
from everturn.protocol.llm import ReasoningConfig
from everturn.protocol.message import (
    AudioData,
    AudioPart,
    DraftMessage,
    FileData,
    FilePart,
    ImagePart,
    ImageUrl,
    TextPart,
    VideoPart,
    VideoUrl,
)
from unit.llm.demo.playing import assistant, request_of, said, stream, tool, user


def after_a_batch(script: str) -> list[DraftMessage]:
    return [
        user(f"[[call:clock]][[call:clock]][[call:clock]][[turn]]{script}"),
        assistant(None, "c1", "c2", "c3"),
        tool("c2", "two"),
        tool("c1", "one"),
    ]


def test_result_is_the_last_tool_result_and_results_the_batch_in_call_order() -> None:
    answer = said(after_a_batch("[[say:{{result}} of {{results}}]]"))

    assert answer == "one of one | two"


def test_a_failed_result_is_shown_as_an_error() -> None:
    request = request_of(after_a_batch("[[say:{{result}} of {{results}}]]"))

    answer = assemble(stream(request, failed=frozenset({"c1"})))

    assert answer.content == "ERROR: one of ERROR: one | two"


def test_the_last_batch_counts_not_an_earlier_one() -> None:
    messages = [
        user("[[call:clock]][[turn]][[call:clock]][[say:{{results}}]]"),
        assistant(None, "c1"),
        tool("c1", "one"),
        assistant(None, "c2"),
        tool("c2", "two"),
    ]

    assert said(messages) == "two"


def test_where_there_is_nothing_to_show_nothing_is_shown() -> None:
    script = "[[say:<{{result}}{{results}}{{prev}}{{system}}{{files}}{{summary}}{{notes}}>]]"

    assert said(script) == "<>"


def test_prev_is_the_user_message_before_whoever_spoke_in_between() -> None:
    messages = [
        user("my name is Ada"),
        assistant("echo: my name is Ada"),
        user("[Everturn] Something else."),
        user("[[say:{{prev}}]]"),
    ]

    assert said(messages) == "my name is Ada"


def test_system_model_tools_and_messages_are_those_of_the_request() -> None:
    messages = [
        DraftMessage(role="system", content="Be brief."),
        DraftMessage(role="system", content="Be kind."),
        user("[[say:{{system}} / {{model}} / {{tools}} / {{messages}}]]"),
    ]

    assert said(messages) == "Be brief.\n\nBe kind. / demo / add, clock / 3"
    assert said("[[say:<{{tools}}>]]", tools=None) == "<>"


@pytest.mark.parametrize(
    ("reasoning", "level"),
    [
        (None, "50"),
        (ReasoningConfig(), "50"),
        (ReasoningConfig(enabled=True), "50"),
        (ReasoningConfig(enabled=False, effort="high"), "0"),
        (ReasoningConfig(effort="none"), "0"),
        (ReasoningConfig(effort="minimal"), "10"),
        (ReasoningConfig(effort="low"), "30"),
        (ReasoningConfig(effort="medium"), "50"),
        (ReasoningConfig(effort="high"), "80"),
        (ReasoningConfig(effort="xhigh"), "100"),
        (ReasoningConfig(max_tokens=0), "0"),
        (ReasoningConfig(max_tokens=1), "10"),
        (ReasoningConfig(max_tokens=2048), "30"),
        (ReasoningConfig(max_tokens=8192), "50"),
        (ReasoningConfig(max_tokens=20_000), "80"),
        (ReasoningConfig(max_tokens=32_768), "100"),
    ],
)
def test_reasoning_is_shown_as_a_level(reasoning: ReasoningConfig | None, level: str) -> None:
    assert said("[[say:{{reasoning}}]]", reasoning=reasoning) == level


def test_files_lists_what_came_along() -> None:
    message = DraftMessage(
        role="user",
        content=(
            TextPart(text="[[say:{{fil"),
            FilePart(file=FileData(filename="a.pdf", file_data="data:application/pdf;base64,AA==")),
            ImagePart(image_url=ImageUrl(url="data:image/png;base64,AA==")),
            ImagePart(image_url=ImageUrl(url="https://example.com/b.jpg")),
            AudioPart(input_audio=AudioData(data="AA==", format="wav")),
            VideoPart(video_url=VideoUrl(url="https://example.com/c.mp4")),
            TextPart(text="es}}]]"),
        ),
    )

    assert said([message]) == (
        "a.pdf, image/png, https://example.com/b.jpg, audio/wav, https://example.com/c.mp4"
    )


def test_summary_and_notes_are_what_the_engine_put_in() -> None:
    messages = [
        user("[Everturn] Summary of the conversation so far:\nAda likes tea."),
        user("[Everturn] Calls of the last turn: none."),
        user("[[say:{{summary}} / {{notes}}]]"),
        user("[Everturn] Two calls are the same."),
    ]

    assert said(messages) == (
        "Ada likes tea. / "
        "[Everturn] Calls of the last turn: none. | [Everturn] Two calls are the same."
    )


def test_a_summary_may_come_without_a_colon() -> None:
    assert said([user("[Everturn] Summary all is well"), user("[[say:{{summary}}]]")]) == (
        "all is well"
    )


def test_unknown_placeholders_stay_and_values_are_not_filled_again() -> None:
    messages = [user("{{model}}"), user("[[say:{{nothing}} {{prev}} {{ model }} {{]]")]

    assert said(messages) == "{{nothing}} {{model}} {{ model }} {{"


def test_only_say_is_filled() -> None:
    messages = [user('[[call:clock {"a":"{{model}}"}]]')]

    answer = assemble(stream(request_of(messages)))

    assert answer.tool_calls[0].function.arguments == '{"a":"{{model}}"}'
    assert said("echo {{model}}") == "echo: echo {{model}}"
