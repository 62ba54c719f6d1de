"""Prints what was measured, as tables of plain text; it judges nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from bench.bars import Bar
from bench.cold import Cold
from bench.model_imports import RIVALS, Imports
from bench.models import Compared, Reading
from bench.peer import INSTALL, QUOTED, PeerTurn
from bench.sorting import BESIDE
from bench.streams import PACE_S
from bench.tape import Entry
from bench.turns import Measured
from everturn_local.usage import Line

WIDTH = 140


def console() -> Console:
    """Return where all of it goes: standard output as it is now."""
    return Console(width=WIDTH, highlight=False, file=sys.stdout)


def table(title: str, *columns: str, left: int = 1) -> Table:
    """Return an empty table; the first `left` columns are text, the others figures."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        made.add_column(name, justify="left" if place < left else "right")
    return made


def turns_table(measured: Sequence[Measured]) -> Table:
    """Return what each turn itself cost, and the requests that are listed apart."""
    made = table(
        "A turn itself (queue receive and delete included), and beside it (requests/units)",
        *("turn", "watched", "number", "requests", "write units", "read units"),
        *("KB out", "KB in", *BESIDE),
        left=2,
    )
    for one in sorted(measured, key=lambda one: (one.kind, one.watched, one.number)):
        line = one.itself
        beside = [_beside(one.usage.total(category=name)) for name in BESIDE]
        made.add_row(
            *(one.kind, "yes" if one.watched else "no", str(one.number)),
            *(str(line.requests), f"{line.write_units:g}", f"{line.read_units:g}"),
            *(f"{line.bytes_in / 1000:.1f}", f"{line.bytes_out / 1000:.1f}", *beside),
        )
    return made


def window_table(title: str, measured: Sequence[Measured]) -> Table:
    """Return reads beside the size of the model's window."""
    made = table(title, "turn", "number", "window KB", "read units", "read units per window KB")
    for one in measured:
        kilobytes = one.window_bytes / 1000
        units = one.itself.read_units
        ratio = f"{units / kilobytes:.2f}" if kilobytes else "-"
        made.add_row(one.kind, str(one.number), f"{kilobytes:.1f}", f"{units:g}", ratio)
    return made


def cold_table(yardstick: Cold, handlers: Sequence[Cold]) -> Table:
    """Return import times and how they compare with boto3's."""
    made = table(
        "Cold start of the code, best of 5, with bytecode",
        *("handler", "import ms", "x boto3", "ready ms", "x boto3 and a client"),
    )
    for one in (yardstick, *handlers):
        made.add_row(
            one.name,
            f"{one.import_ms:.0f}",
            f"{one.import_ms / yardstick.import_ms:.2f}",
            f"{one.ready_ms:.0f}",
            f"{one.ready_ms / yardstick.ready_ms:.2f}",
        )
    return made


def modules_table(name: str, modules: Sequence[tuple[str, float]]) -> Table:
    """Return a handler's dearest modules."""
    made = table(f"{name}: modules by their own time (under -X importtime)", "module", "ms")
    for module, own_ms in modules:
        made.add_row(module, f"{own_ms:.1f}")
    return made


def peer_table(peers: Sequence[PeerTurn], measured: Sequence[Measured]) -> Table:
    """Return the peer's turns, and how many times ours they are where there is such a turn."""
    ours = {(one.kind, one.number): one.itself for one in measured if not one.watched}
    made = table(
        "LangGraph on its DynamoDB checkpointer, same cloud, same meter",
        *("turn", "number", "requests", "write units", "read units"),
        *("requests x ours", "write units x ours", "read units x ours"),
    )
    for one in peers:
        own = ours.get((one.kind, one.number), Line())
        made.add_row(
            *(one.kind, str(one.number), str(one.line.requests)),
            *(f"{one.line.write_units:g}", f"{one.line.read_units:g}"),
            _ratio(one.line.requests, own.requests),
            _ratio(one.line.write_units, own.write_units),
            _ratio(one.line.read_units, own.read_units),
        )
    return made


def peer_quoted(out: Console) -> None:
    """Say what is known of a peer that is not installed."""
    out.print(f"LangGraph on its DynamoDB checkpointer, quoted, not measured: {QUOTED}.")
    out.print(f"To measure it in the same run: {INSTALL}")


def streams_table(compared: Sequence[Compared]) -> Table:
    """Return what a token costs our adapters and the providers' clients."""
    made = table(
        "A streamed token, ours / theirs / ours beside theirs (medians; of the rounds' ratios)",
        *("stream", "client", "tokens come", "CPU us", "wall us", "first token ms"),
        left=3,
    )
    for one in compared:
        made.add_row(
            *(one.wire, one.client),
            f"every {PACE_S * 1000:g} ms" if one.paced else "at once",
            _pair(one, lambda reading: reading.cpu_us),
            _pair(one, lambda reading: reading.wall_us),
            _pair(one, lambda reading: reading.first_ms),
        )
    return made


def imports_table(imports: Imports) -> Table:
    """Return what a cold process pays for a provider."""
    made = table(
        f"Import of a provider, best of 5, with bytecode; after: {imports.after}",
        *("what", "import ms", "x its client", "ready ms", "x its client"),
    )
    found = {one.name: one for one in imports.timed}
    for one in imports.timed:
        rival = found.get(RIVALS.get(one.name, ""))
        made.add_row(
            *(one.name, f"{one.import_ms:.0f}"),
            f"{one.import_ms / rival.import_ms:.2f}" if rival else "-",
            f"{one.ready_ms:.0f}",
            f"{one.ready_ms / rival.ready_ms:.2f}" if rival else "-",
        )
    return made


def trace_table(title: str, entries: Sequence[Entry]) -> Table:
    """Return every request of a turn, in the order of the answers."""
    made = table(
        title, *("ms", "who", "for", "operation", "about", "write units", "read units"), left=5
    )
    for entry in entries:
        made.add_row(
            f"{(entry.at_s - entries[0].at_s) * 1000:.0f}",
            *(entry.who, entry.category, entry.operation, entry.what),
            *(f"{entry.line.write_units:g}", f"{entry.line.read_units:g}"),
        )
    return made


def bars_lines(out: Console, bars: Sequence[Bar]) -> None:
    """Print one line per bar."""
    for bar in bars:
        word = "[green]holds[/] " if bar.holds else "[red]MISSED[/]"
        out.print(f"{word} {bar.name}: {bar.value:g}, at most {bar.limit:g}")


def _pair(one: Compared, part: Callable[[Reading], float]) -> str:
    return f"{one.ours(part):.1f} / {one.theirs(part):.1f} / {one.share(part):.2f}"


def _beside(line: Line) -> str:
    units = line.write_units + line.read_units
    return f"{line.requests}/{units:g}" if line.requests else "-"


def _ratio(value: float, own: float) -> str:
    return f"{value / own:.1f}" if own else "-"
