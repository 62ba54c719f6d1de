"""Whatever is read becomes a config that the core takes, or is refused in so many words."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from everturn.protocol.agent import AGENT_CONFIG, check_agent
from everturn.protocol.message import DraftMessage, check_message
from everturn.protocol.runs.bodies import read_run
from everturn.rejections import InvalidRequest, NotYetSupported
from everturn.runs.messages import drafts, replayed, system_texts
from everturn.runs.spec import SpecBase, config_of, inherited
from everturn.runs.tools import echo_of
from unit.protocol.runs.any_bodies import RUNS, spoilt
from unit.protocol.runs.shapes import CATALOGUE, LOCAL, PEER

RUNNABLE = [{**run, "tools": [LOCAL, PEER, CATALOGUE]} for run in RUNS]
EFFORTS = st.lists(st.sampled_from(("none", "low", "high")), unique=True)


@given(body=spoilt(RUNNABLE), efforts=EFFORTS)
def test_a_body_becomes_a_config_that_the_core_takes(body: Any, efforts: list[str]) -> None:
    try:
        read = read_run(body)
        config = config_of(read.spec, SpecBase("demo:demo"), efforts, system_texts(read.turn))
    except (InvalidRequest, NotYetSupported):
        return

    known = {name: value for name, value in config.items() if name != "fallback_models"}
    check_agent(AGENT_CONFIG.validate_python(known), decides="engine")
    for tool in config["tools"]:
        assert echo_of(read.spec["tools"], tool["name"]) is not None


@given(body=spoilt(RUNNABLE))
def test_a_body_becomes_messages_that_the_core_takes(body: Any) -> None:
    try:
        turn = read_run(body).turn
    except InvalidRequest:
        return

    for draft in drafts(turn):
        check_message(DraftMessage.model_validate(draft))
    files = [file for message in turn for file in message.attachments or ()]
    assert len(replayed(drafts(turn)[-1]).get("attachments", ())) == len(files)


@given(session=spoilt(RUNNABLE), message=spoilt(RUNNABLE))
def test_what_a_message_inherits_is_a_spec_again(session: Any, message: Any) -> None:
    try:
        both = inherited(read_run(session).spec, read_run(message).spec)
    except InvalidRequest:
        return

    assert read_run({**both, "prompt": "Hi"}).spec == both
