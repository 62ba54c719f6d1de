"""`python -m bench`: measure, print, and exit 1 where a bar is missed."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import Final

from rich.console import Console

from bench import report
from bench.bars import Bar, bars, import_bars, token_bars
from bench.cold import dearest_modules, handlers, yardstick
from bench.model_imports import imports
from bench.models import are_clients_there, compared
from bench.peer import is_there, peer_turns
from bench.stage import Stage, stage
from bench.turns import KINDS, Measured, long_turns, measure, session_turns

AGES: Final = (1, 50, 200)
PEER_AGES: Final = (1, 50, 100, 200)
LONG_AGES: Final = (1, *range(20, 141, 20))
WARMING: Final = 3
"""Quick turns before a traced one."""


def main(arguments: Sequence[str]) -> int:
    """Run the parts that were asked for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parts = ("turns", "window", "peer", "cold", "models")
    parser.add_argument("part", nargs="*", choices=(*parts, []), help="default: all of them")
    parser.add_argument("--trace", action="store_true", help="list the requests of one turn each")
    parser.add_argument(
        "--verbose", action="store_true", help="list each handler's dearest modules"
    )
    asked = parser.parse_args(arguments)
    wanted = frozenset(asked.part or (() if asked.trace else parts))
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    out = report.console()
    measured: list[Measured] = []
    if asked.trace or wanted & {"turns", "window", "peer"}:
        with stage() as here:
            if asked.trace:
                trace(here, out)
            if "turns" in wanted:
                measured = turns(here, out)
            if "window" in wanted:
                window(here, out)
            if "peer" in wanted:
                peer(here, out, measured)
    found = bars(measured) if measured else []
    if "cold" in wanted:
        cold(out, verbose=asked.verbose)
    if "models" in wanted:
        found += models(out)
    report.bars_lines(out, found)
    return 0 if all(bar.holds for bar in found) else 1


def turns(here: Stage, out: Console) -> list[Measured]:
    """Measure turns of a session of each kind, alone and watched."""
    measured = [one for kind in KINDS for one in session_turns(here, kind, AGES)]
    out.print(report.turns_table(measured))
    alone = [one for one in measured if not one.watched]
    out.print(report.window_table("Reads beside the model's window (128,000 tokens)", alone))
    return measured


def window(here: Stage, out: Console) -> None:
    """Let a session outgrow its window."""
    title = "Reads of a session that outgrows its window (128,000 tokens, 7.5 KB a message)"
    out.print(report.window_table(title, list(long_turns(here, LONG_AGES))))


def peer(here: Stage, out: Console, measured: Sequence[Measured]) -> None:
    """Measure the peer, or quote it."""
    if is_there():
        out.print(report.peer_table(list(peer_turns(here, PEER_AGES)), measured))
    else:
        report.peer_quoted(out)


def cold(out: Console, *, verbose: bool) -> None:
    """Time the handlers' imports."""
    timed = handlers()
    out.print(report.cold_table(yardstick(), timed))
    for one in timed if verbose else ():
        out.print(report.modules_table(one.name, dearest_modules(one.name)))


def models(out: Console) -> list[Bar]:
    """Compare our adapters with the providers' clients; returns the bars."""
    if not are_clients_there():
        out.print("The providers' clients are not installed, so nothing is measured: make venv")
        return []
    streams, imported = list(compared()), list(imports())
    out.print(report.streams_table(streams))
    for one in imported:
        out.print(report.imports_table(one))
    return [*token_bars(streams), *import_bars(imported)]


def trace(here: Stage, out: Console) -> None:
    """List the requests of a warm, quick turn of each kind that nobody watches."""
    for kind in KINDS:
        session_id = None
        for number in range(1, WARMING + 2):
            one, session_id = measure(here, kind, number, session_id, watched=False, quick=True)
        out.print(report.trace_table(f"{kind}, warm, nobody watches", one.entries))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
