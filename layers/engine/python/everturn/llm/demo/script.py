"""The script language of the demo model: text -> turns of steps. Parses only, plays nothing.

Source: docs/demo-model.md, "Directives".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from everturn.llm.chunks import FinishReason, normal_finish
from everturn.llm.demo.steps import (
    Call,
    Cut,
    Directive,
    Fail,
    Finish,
    Flaky,
    Plan,
    Report,
    Say,
    Sleep,
    Step,
    Think,
    Turn,
    TurnEnd,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Script:
    """What one user message tells the demo model to do."""

    turns: tuple[Turn, ...] = ()
    directed: bool = True
    """Whether the text had a directive; without one the only turn is an echo."""

    plan: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


_OPENING: Final = re.compile(r"\[\[([a-z_]+)(:|(?=\]\]))")
_NAME: Final = re.compile(r"\s*([^\s{}\[\]]+)")
_VERDICTS: Final = {"on_track", "redirect", "finalize"}
DEFAULT_CLASS: Final = "server"
"""Error class where a script names none."""

_DECODER: Final = json.JSONDecoder()


def parse(text: str) -> Script:
    """Return the script in `text`; without a directive that is `echo: <text>`. Total."""
    directives = tuple(directives_in(text))
    if not directives:
        return Script(turns=((Say(f"echo: {text}", verbatim=True),),), directed=False)
    return Script(
        turns=turns_of(directives),
        plan=next((one.steps for one in directives if isinstance(one, Plan)), ()),
        verdicts=tuple(one for one in directives if isinstance(one, Verdict)),
    )


def turns_of(directives: tuple[Directive, ...]) -> tuple[Turn, ...]:
    """Return the model turns that `directives` make.

    A turn ends at `turn`, `finish` and `error`, and before whatever follows a batch of calls
    (`finish` still belongs to the batch). An empty one is none.
    """
    turns: list[Turn] = []
    open_turn: list[Step] = []

    def close() -> None:
        if open_turn:
            turns.append(tuple(open_turn))
            open_turn.clear()

    for directive in directives:
        if (
            open_turn
            and isinstance(open_turn[-1], Call)
            and not isinstance(directive, Call | Finish)
        ):
            close()
        match directive:
            case TurnEnd():
                close()
            case Plan() | Verdict():
                continue
            case Finish() | Fail():
                open_turn.append(directive)
                close()
            case _:
                open_turn.append(directive)
    close()
    return tuple(turns)


def directives_in(text: str) -> Iterator[Directive]:
    """Yield the directives of `text` in order; unknown and unreadable ones are left out."""
    position = 0
    while opening := _OPENING.search(text, position):
        op, start = opening[1], opening.end()
        end = end_of(op, text, start)
        if end < 0 and op != "rawcall":
            return  # nothing closes anything any more
        if end < 0:
            position = start
            continue
        position = end + 2
        directive = to_directive(op, text[start:end])
        if directive is not None:
            yield directive


def end_of(op: str, text: str, start: int) -> int:
    """Return where the body that begins at `start` ends, -1 if nothing closes it."""
    match op:
        case "rawcall":
            following = text.find("[[", start)
            return text.rfind("]]", start, following if following >= 0 else len(text))
        case "call":
            return text.find("]]", after_json(text, start))
        case _:
            return text.find("]]", start)


def after_json(text: str, start: int) -> int:
    """Return the position after the JSON value that follows a call's name, if there is one."""
    name = _NAME.match(text, start)
    if name is None:
        return start
    try:
        return _DECODER.raw_decode(text, after_space(text, name.end()))[1]
    except (ValueError, RecursionError):
        return name.end()


def after_space(text: str, start: int) -> int:
    """Return the position of the first character from `start` on that is no white space."""
    while text[start : start + 1].isspace():
        start += 1
    return start


def to_directive(op: str, body: str) -> Directive | None:
    """Return what `[[op:body]]` means; None for what no one can read."""
    read = _READERS.get(op)
    return None if read is None else read(body)


def to_finish(body: str) -> Finish | None:
    """Return the stop reason; that we broke off is nothing a model can say."""
    reason = normal_finish(body.strip() or FinishReason.STOP)
    return None if reason == FinishReason.ABORTED else Finish(reason)


def to_fail(body: str) -> Fail:
    """Return the failure of `CLASS message`."""
    error_class, message = head_and_rest(body)
    return Fail(error_class or DEFAULT_CLASS, message)


def to_flaky(body: str) -> Flaky | None:
    """Return the failing attempts of `N CLASS`."""
    count, error_class = head_and_rest(body)
    return Flaky(int(count), error_class or DEFAULT_CLASS) if is_count(count) else None


def to_cut(body: str) -> Cut | None:
    """Return where the stream breaks off."""
    return Cut(int(body)) if is_count(body.strip()) else None


def to_sleep(body: str) -> Sleep | None:
    """Return the pause."""
    return Sleep(int(body)) if is_count(body.strip()) else None


def to_plan(body: str) -> Plan:
    """Return the steps of `A|B|C`, empty ones left out."""
    steps = (step.strip() for step in body.split("|"))
    return Plan(tuple(step for step in steps if step))


def to_verdict(body: str) -> Verdict | None:
    """Return the answer to one review."""
    action, text = head_and_rest(body)
    return Verdict(action, text or None) if action in _VERDICTS else None


def head_and_rest(body: str) -> tuple[str, str]:
    """Return the first word of `body` and what follows it."""
    word, _, rest = body.strip().partition(" ")
    return word, rest.strip()


def to_call(body: str) -> Call | None:
    """Return the call of `NAME {json}`, with an empty object where there is none."""
    name = _NAME.match(body)
    return Call(name[1], body[name.end() :].strip() or "{}") if name else None


def to_raw_call(body: str) -> Call | None:
    """Return the call of `NAME text`; all but the character after the name is the text."""
    name = _NAME.match(body)
    if name is None:
        return None
    text = body[name.end() :]
    return Call(name[1], text[1:] if text[:1].isspace() else text)


def to_report(body: str) -> Report:
    """Return the counts of `in=100,out=20,…`; keys and values that mean nothing are left out."""
    pairs = (pair.partition("=") for pair in body.split(","))
    counts = {key.strip(): int(value) for key, _, value in pairs if is_count(value.strip())}
    return Report(
        input=counts.get("in"),
        output=counts.get("out"),
        cached=counts.get("cached"),
        reasoning=counts.get("reasoning"),
    )


def is_count(text: str) -> bool:
    """Return whether `text` is a natural number of at most nine digits."""
    return re.fullmatch(r"[0-9]{1,9}", text) is not None


_READERS: Final[Mapping[str, Callable[[str], Directive | None]]] = MappingProxyType(
    {
        "say": Say,
        "think": Think,
        "call": to_call,
        "rawcall": to_raw_call,
        "turn": lambda _: TurnEnd(),
        "finish": to_finish,
        "error": to_fail,
        "flaky": to_flaky,
        "cut": to_cut,
        "sleep": to_sleep,
        "plan": to_plan,
        "judge": to_verdict,
        "usage": to_report,
    }
)
