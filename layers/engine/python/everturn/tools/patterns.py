"""Which regular expressions a schema may bring, and on how long a text; it searches nothing itself.

`re` backtracks. What it can be made to do over and over is bounded here by a look at the pattern:
where a repetition ends must follow from the next character, inside of loops always, elsewhere
mostly. The look errs on the safe side.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MAX_PATTERN_CHARS = 1000
MAX_STEPS = 10**8
"""About a second of `re`."""
MAX_CHOICES = 1000
"""Ways in which short repetitions (`a?a?a?`) may share a text between them."""

_TOKEN = re.compile(
    r"""
      (?P<refused> \\[1-9] | \(\?P= [^)]* \) | \(\?\( | \(\?[aiLmsux-]+[:)] )
    | (?P<width0> [$^] | \\[AbBZ] )
    | (?P<ahead> \(\?<?[=!] )
    | (?P<open> \( (?: \?: | \?> | \?P<\w+> )? )
    | (?P<close> \) )
    | (?P<either> \| )
    | (?P<repeat> (?: [*+?] | \{ \d* ,? \d* \} ) [?+]? )
    | (?P<atom>
          \\x[0-9a-fA-F]{2} | \\u[0-9a-fA-F]{4} | \\.
        | \[ \^? \]? (?: \\. | [^\]\\] )* \]
        | .
      )
    """,
    re.VERBOSE | re.DOTALL,
)
_SAMPLES = "".join(map(chr, range(128))) + "\x85\u00a0é²٣ß€中😀"


class _Refused(Exception):
    """The pattern could run for too long; the text says why."""


@dataclass(slots=True)
class _Part:
    """An atom or a group, and how often it may stand there."""

    atom: str | None = None
    branches: list[list[_Part]] = field(default_factory=list)
    width0: bool = False
    least: int = 1
    most: float = 1

    @property
    def varies(self) -> bool:
        return self.most > self.least


@dataclass(slots=True)
class _Cost:
    unbounded: int = 0
    """Repetitions without bound."""
    unclear: int = 0
    """Those of them whose end does not follow from the next character."""
    choices: float = 1
    anchored: bool = False
    """A search tries one place only."""


def refusal(pattern: str) -> str | None:
    """Say why `pattern` is refused, or None."""
    try:
        _cost(pattern)
    except _Refused as refused:
        return str(refused)
    return None


def max_subject_chars(pattern: str) -> int:
    """Return how long a text may be searched with `pattern`, which was not refused."""
    cost = _cost(pattern)
    if not cost.unbounded:
        return MAX_STEPS
    power = 1 + cost.unclear + (0 if cost.anchored else 1)
    return int((MAX_STEPS / cost.choices) ** (1 / power))


@functools.lru_cache(maxsize=1024)
def _cost(pattern: str) -> _Cost:
    if len(pattern) > MAX_PATTERN_CHARS:
        raise _Refused(f"a pattern has at most {MAX_PATTERN_CHARS} characters")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise _Refused("the pattern does not compile") from None
    branches = _parsed(pattern)
    cost = _Cost(anchored=len(branches) == 1 and pattern.startswith(("^", "\\A")))
    for branch in branches:
        _weigh(branch, [], cost, in_loop=False)
    if cost.choices > MAX_CHOICES:
        raise _Refused("the pattern can divide a text in too many ways")
    return cost


def _parsed(pattern: str) -> list[list[_Part]]:
    """Return the pattern's branches; it compiles, so its brackets match."""
    groups = [_Part(branches=[[]])]
    for token in _TOKEN.finditer(pattern):
        here = groups[-1].branches
        match token.lastgroup:
            case "refused":
                raise _Refused("the pattern has a back reference, a condition or flags")
            case "width0":
                here[-1].append(_Part(width0=True))
            case "open" | "ahead" as kind:
                groups.append(_Part(branches=[[]], width0=kind == "ahead"))
            case "close":
                groups[-2].branches[-1].append(groups.pop())
            case "either":
                here.append([])
            case "repeat" if here[-1]:
                part = here[-1][-1]
                part.least, part.most = _bounds(token[0], part)
            case _:
                here[-1].append(_Part(atom=token[0]))
    return groups[0].branches


def _bounds(repeat: str, part: _Part) -> tuple[int, float]:
    match repeat[0]:
        case "*":
            return 0, float("inf")
        case "+":
            return part.least, float("inf")
        case "?":
            return 0, part.most
        case _:
            least, comma, most = repeat.rstrip("?+").strip("{}").partition(",")
            if not comma:
                return int(least or 0), int(least or 0)
            return int(least or 0), int(most) if most else float("inf")


def _weigh(parts: Sequence[_Part], after: Sequence[str], cost: _Cost, *, in_loop: bool) -> None:
    """Add to `cost` what `parts` cost where one of `after` comes next (nothing: the end)."""
    for at, part in enumerate(parts):
        following = _starts(parts[at + 1 :], after)
        if part.varies and not part.width0:
            _weigh_repetition(part, following, cost, in_loop=in_loop)
        loops = part.most > 1
        inner_after = [*_starts_of(part), *following] if loops else following
        for branch in part.branches:
            _weigh(branch, [] if part.width0 else inner_after, cost, in_loop=in_loop or loops)
        if (in_loop or loops) and not _apart(part.branches):
            raise _Refused("the pattern repeats a choice whose branches begin alike")


def _weigh_repetition(part: _Part, following: Sequence[str], cost: _Cost, *, in_loop: bool) -> None:
    clear = not any(_overlap(start, then) for start in _starts_of(part) for then in following)
    unbounded = part.most == float("inf")
    if in_loop and not clear:
        raise _Refused("the pattern repeats a repetition whose end is not clear")
    if part.branches and part.most > 1 and any(_may_be_empty(branch) for branch in part.branches):
        raise _Refused("the pattern repeats what may be empty")
    cost.unbounded += unbounded
    cost.unclear += unbounded and not clear
    if not unbounded and not clear:
        cost.choices *= part.most - part.least + 1


def _starts(parts: Sequence[_Part], after: Sequence[str]) -> list[str]:
    """Return the atoms that may come first in `parts`, of `after` where they may be empty."""
    found: list[str] = []
    for part in parts:
        if part.width0:
            continue
        found += _starts_of(part)
        if part.least > 0 and not (part.branches and any(map(_may_be_empty, part.branches))):
            return found
    return [*found, *after]


def _starts_of(part: _Part) -> list[str]:
    if part.atom is not None:
        return [part.atom]
    return [start for branch in part.branches for start in _starts(branch, [])]


def _may_be_empty(parts: Sequence[_Part]) -> bool:
    return all(
        part.width0
        or part.least == 0
        or (part.atom is None and any(map(_may_be_empty, part.branches)))
        for part in parts
    )


def _apart(branches: Sequence[Sequence[_Part]]) -> bool:
    """Tell whether the first character says which of the branches it is."""
    starts = [_starts(branch, []) for branch in branches]
    return not any(
        _overlap(one, other)
        for at, ours in enumerate(starts)
        for theirs in starts[at + 1 :]
        for one in ours
        for other in theirs
    )


@functools.lru_cache(maxsize=4096)
def _overlap(one: str, other: str) -> bool:
    """Tell whether some character fits both atoms."""
    return not set(_fitting(one)).isdisjoint(_fitting(other))


def _fitting(atom: str) -> Iterator[str]:
    fits = re.compile(atom if len(atom) > 1 or atom == "." else re.escape(atom), re.DOTALL)
    return (char for char in _SAMPLES if fits.fullmatch(char))
