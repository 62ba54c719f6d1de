"""Which turn of a script a model call plays; picks and completes turns, streams nothing.

Source: docs/demo-model.md, "Turns".
"""

from __future__ import annotations

from typing import Final

from everturn.llm.demo.instance import minimal_instance
from everturn.llm.demo.script import Script
from everturn.llm.demo.steps import Call, Fail, Finish, Say, Turn
from everturn.protocol.json_text import compact
from everturn.protocol.wire import JsonSchema

DONE: Final = Say("done", verbatim=True)
"""What is said past the end of a script."""


def turn_to_play(
    script: Script, call: int, *, tools_offered: bool, output_schema: JsonSchema | None
) -> Turn:
    """Return the turn of model call number `call`, from 0; never one that says nothing at all."""
    turn = script.turns[call] if call < len(script.turns) else ()
    if has_calls(turn) and not tools_offered:
        call_free = [other for other in script.turns if not has_calls(other)]
        turn = call_free[-1] if call_free else ()
    if output_schema is None:
        return with_words(turn, DONE)
    instance = Say(compact(minimal_instance(output_schema)), verbatim=True)
    return with_instance(turn if script.directed else (), instance)


def has_calls(turn: Turn) -> bool:
    """Return whether the turn asks for tools."""
    return any(isinstance(step, Call) for step in turn)


def with_words(turn: Turn, words: Say) -> Turn:
    """Return `turn`, with `words` at its end if nothing in it makes an answer."""
    if any(isinstance(step, Say | Call | Fail | Finish) for step in turn):
        return turn
    return (*turn, words)


def with_instance(turn: Turn, instance: Say) -> Turn:
    """Return `turn`, with `instance` as its words if it has none of its own and calls nothing."""
    if any(isinstance(step, Say | Call | Fail) for step in turn):
        return turn
    if turn and isinstance(turn[-1], Finish):
        return (*turn[:-1], instance, turn[-1])
    return (*turn, instance)
