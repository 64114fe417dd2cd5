"""What a person sees in the terminal: progress while a run computes, its verdicts when it is done.

Progress goes to stderr: bars where that is a terminal, one line a finished seed where it is a file or a pipe.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from claimlab.claims import JudgedClaim
from claimlab.needs import among, weighed
from claimlab.running.verification.verify import Found
from claimlab.running.watching.status import Status
from claimlab.running.workers.worker import Event, OnEvent
from claimlab.showing.wording import SIGNS, UNCHECKED, duration, number, numbers, plain

Stream = Any
"""A file to write text to; `typing.TextIO` would say so, but no real file is an instance of it."""

COLOURS = {"✓": "green", "✗": "red", "○": "yellow", "-": "yellow"}
"""The colour of a verdict's sign."""


@contextlib.contextmanager
def progress(name: str, seeds: int, stream: Stream = None) -> Generator[OnEvent, None, None]:
    """Shows the events of a run on a stream: bars on a terminal, lines elsewhere.

    Args:
        name: the experiment's.
        seeds: how many seeds the run has.
        stream: where to write; stderr if None.
    """
    target = stream or sys.stderr
    if target.isatty():
        with Bars(name, seeds, target) as bars:
            yield bars
    else:
        yield Lines(name, seeds, target)


@dataclass
class Lines:
    """One line for each finished seed, each notice and each failure."""

    name: str
    seeds: int
    stream: Stream
    done: int = 0

    def __call__(self, event: Event) -> None:
        """Writes the event's line, if it deserves one."""
        if event.kind in ("reused", "finished"):
            self.done += 1
            how = "recorded before" if event.kind == "reused" else f"done in {duration(event.seconds)}"
            self._write(f"{self.name} seed {event.seed}: {how} ({self.done} of {self.seeds})")
        elif event.kind == "failed":
            self._write(f"{self.name} seed {event.seed}: failed")  # why, is the last sentence of the command
        elif event.kind == "kept":
            self._write(f"{self.name} seed {event.seed}: {event.text}")
        elif event.kind in ("again", "notice"):
            self._write(f"note: {event.text}")

    def _write(self, line: str) -> None:
        print(plain(line), file=self.stream, flush=True)


@dataclass
class _Seed:
    task: TaskID
    fraction: float = 0.0
    start: float = field(default_factory=time.monotonic)


class Bars:
    """A bar for each running seed and one for them all, each with the time that is left.

    Args:
        name: the experiment's.
        seeds: how many seeds the run has.
        stream: a terminal.
    """

    def __init__(self, name: str, seeds: int, stream: Stream) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[left]}", style="cyan"),
            TextColumn("{task.fields[text]}", style="dim", markup=False),  # the experiment's own words
            console=Console(file=stream),
            transient=True,
        )
        self._name, self._seeds, self._stream = name, seeds, stream
        self._running: dict[int, _Seed] = {}
        self._done, self._computed, self._start = 0, 0.0, time.monotonic()
        self._total = self._progress.add_task(f"[bold]{name}[/bold]", total=seeds, left="", text=f"0 of {seeds} seeds")

    def __enter__(self) -> Bars:
        """Starts drawing."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Takes the bars off the terminal; the lines above them stay."""
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Moves the bars."""
        if event.kind == "started" and event.seed is not None:
            task = self._progress.add_task(f"  seed {event.seed}", total=1.0, left="", text="starting")
            self._running[event.seed] = _Seed(task)
        elif event.kind == "advanced" and event.seed is not None:
            self._advance(self._running[event.seed], event)
        elif event.kind in ("finished", "reused", "failed", "kept") and event.seed is not None:
            self._end(event.seed, event)
        elif event.kind in ("again", "notice"):
            self._print(f"note: {event.text}")
        self._show_total()

    def refresh(self) -> None:
        """Draws now instead of at the next tick."""
        self._progress.refresh()

    def _advance(self, seed: _Seed, event: Event) -> None:
        seed.fraction = min(max(float(event.fraction or 0.0), 0.0), 1.0)
        left = duration(event.seconds / seed.fraction - event.seconds) + " left" if seed.fraction else ""
        self._progress.update(seed.task, completed=seed.fraction, left=left, text=plain(event.text))

    def _end(self, number: int, event: Event) -> None:
        seed = self._running.pop(number, None)
        if seed:
            self._progress.remove_task(seed.task)
        if event.kind == "failed":
            self._print(f"{self._name} seed {number}: failed")  # why, is the last sentence of the command
            return
        if event.kind == "kept":
            self._print(f"{self._name} seed {number}: {event.text}")
            return
        self._done += 1
        self._computed += event.kind == "finished"
        how = "recorded before" if event.kind == "reused" else f"done in {duration(event.seconds)}"
        self._print(f"{self._name} seed {number}: {how}")

    def _show_total(self) -> None:
        going = sum(seed.fraction for seed in self._running.values())
        computed, elapsed = self._computed + going, time.monotonic() - self._start
        remaining = self._seeds - self._done - going
        left = f"{duration(elapsed / computed * remaining)} left" if computed > 0.01 else ""
        text = f"{self._done} of {self._seeds} seeds"
        self._progress.update(self._total, completed=self._done + going, left=left, text=text)

    def _print(self, line: str) -> None:
        self._progress.console.print(plain(line), markup=False, highlight=False)


def print_verdicts(claims: Iterable[JudgedClaim], title: str, stream: Stream = None, checked: bool = True) -> None:
    """The small table of verdicts: claim, reported by the text, measured with its interval, verdict.

    Args:
        claims: judged.
        title: above the table.
        stream: where to write, stdout if None; a pipe gets the same table without colours.
        checked: whether the verdicts were computed from rows just now.
    """
    target, claims = stream or sys.stdout, list(claims)
    known, unchecked = among(claims), "" if checked else f" ({UNCHECKED})"
    table = Table(
        title=Text(plain(title)), title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for heading in ("claim", "reported", "measured", "verdict"):
        table.add_column(heading, header_style="dim", no_wrap=heading in ("claim", "measured"), overflow="fold")
    for claim in (weighed(one, known) for one in claims):
        sign = SIGNS[claim.verdict]
        verdict = Text(f"{sign} {claim.verdict}{unchecked}", style=COLOURS[sign])
        table.add_row(Text(plain(claim.id)), Text(plain(claim.printed or "-")), Text(numbers(claim)), verdict)
    console = Console(file=target, width=None if target.isatty() else 120, highlight=False)
    console.print(table)


def print_witnesses(found: Iterable[Found], stream: Stream = None) -> None:
    """The table of what witnesses found: record, seeds, rows, outcome, greatest difference.

    Args:
        found: of each record.
        stream: where to write, stdout if None.
    """
    target = stream or sys.stdout
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("record", "seeds", "rows", "outcome", "difference", "remarks"):
        table.add_column(heading, header_style="dim", overflow="fold")
    for one in found:
        record = Text(plain(f"{one.run.recipe.name} {one.run.folder.name}"))
        if one.witness is None:
            table.add_row(record, "-", "-", Text("not made again", style="yellow"), "-", Text(plain(one.fault)))
            continue
        seeds, (compared, recorded) = f"{len(one.witness.seeds)} of {len(one.run.seeds)}", one.witness.rows
        rows = f"first {compared} of {recorded}" if compared < recorded else str(compared)
        outcome = Text(one.witness.outcome, style="red" if one.witness.outcome == "differs" else "green")
        remarks = Text(plain("; ".join(filter(None, [one.witness.where, "found before" * one.before]))))
        table.add_row(record, seeds, rows, outcome, number(one.witness.difference), remarks)
    Console(file=target, width=None if target.isatty() else 160, highlight=False).print(table)


STATES = {"running": "cyan", "finished": "green", "failed": "red", "damaged": "red"}
"""The colour of a run's state."""


def print_states(found: Iterable[Status], stream: Stream = None) -> None:
    """The table of what runs, what is done, what failed and why.

    Args:
        found: of each run.
        stream: where to write, stdout if None.
    """
    target = stream or sys.stdout
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("run", "state", "seeds", "left", "note"):
        table.add_column(heading, header_style="dim", overflow="fold")
    for one in found:
        name = f"{one.name} {one.label}".strip() or str(one.folder)
        left = "" if one.left is None else duration(one.left)
        state = Text(one.state, style=STATES.get(one.state, "yellow"))
        table.add_row(Text(plain(name)), state, f"{one.done} of {one.wanted}", left, Text(plain(one.words)))
    Console(file=target, width=None if target.isatty() else 160, highlight=False).print(table)
