"""What a person sees in the terminal: progress while a run computes, its verdicts when it is done.

Progress goes to stderr: bars where that is a terminal, one line a finished seed where it is a file or a pipe.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass
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
    """Show the events of a run on a stream: bars on a terminal, lines elsewhere."""
    target = stream or sys.stderr
    if target.isatty():
        bars = Bars(name, seeds, target)
        with bars.shown:
            yield bars
    else:
        yield Lines(name, seeds, target)


def _told(name: str, event: Event) -> str:
    """Return an event as a line, "" if it deserves none; why a seed failed is the last sentence of the command."""
    if event.kind in ("again", "notice"):
        return f"note: {event.text}"
    done = f"done in {duration(event.seconds)}"
    how = {"reused": "recorded before", "finished": done, "failed": "failed", "kept": event.text}
    return f"{name} seed {event.seed}: {how[event.kind]}" if event.kind in how else ""


@dataclass
class Lines:
    """One line for each finished seed, each notice and each failure."""

    name: str
    seeds: int
    stream: Stream
    done: int = 0

    def __call__(self, event: Event) -> None:
        """Write the event's line, if it deserves one."""
        ended = event.kind in ("reused", "finished")
        self.done += ended
        if line := _told(self.name, event):
            print(plain(line) + f" ({self.done} of {self.seeds})" * ended, file=self.stream, flush=True)


class Bars:
    """A bar for each running seed and one for them all, each with the time that is left."""

    def __init__(self, name: str, seeds: int, stream: Stream) -> None:
        self.shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[left]}", style="cyan"),
            TextColumn("{task.fields[text]}", style="dim", markup=False),  # the experiment's own words
            console=Console(file=stream),
            transient=True,
        )
        self._name, self._seeds = name, seeds
        self._shares: dict[int, float] = {}
        self._running: dict[int, TaskID] = {}
        self._done, self._computed, self._start = 0, 0.0, time.monotonic()
        self._total = self.shown.add_task(f"[bold]{name}[/bold]", total=seeds, left="", text=f"0 of {seeds} seeds")

    def __call__(self, event: Event) -> None:
        """Move the bars."""
        if event.kind == "started" and event.seed is not None:
            self._running[event.seed] = self.shown.add_task(f"  seed {event.seed}", total=1.0, left="", text="starting")
        elif event.kind == "advanced" and event.seed is not None:
            share = self._shares[event.seed] = min(max(float(event.fraction or 0.0), 0.0), 1.0)
            left = duration(event.seconds / share - event.seconds) + " left" if share else ""
            self.shown.update(self._running[event.seed], completed=share, left=left, text=plain(event.text))
        elif event.seed in self._running and event.kind not in ("again", "notice"):
            self.shown.remove_task(self._running.pop(event.seed))
            self._shares.pop(event.seed, None)
        self._done += event.kind in ("finished", "reused")
        self._computed += event.kind == "finished"
        if line := _told(self._name, event):
            self.shown.console.print(plain(line), markup=False, highlight=False)
        going = sum(self._shares.values())
        computed, elapsed = self._computed + going, time.monotonic() - self._start
        remaining = self._seeds - self._done - going
        left = f"{duration(elapsed / computed * remaining)} left" if computed > 0.01 else ""
        words = f"{self._done} of {self._seeds} seeds"
        self.shown.update(self._total, completed=self._done + going, left=left, text=words)


def table(*headings: str, title: str = "", whole: Collection[str] = ()) -> Table:
    """Return a table without lines; cells of the columns in `whole` are not broken."""
    words = text(title) if title else None
    found = Table(title=words, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        found.add_column(heading, header_style="dim", overflow="fold", no_wrap=heading in whole)
    return found


def text(words: str, style: str = "") -> Text:
    """Return words that are only seen."""
    return Text(plain(words), style=style)


def show(found: Table, stream: Stream = None, width: int = 160) -> None:
    """Print a table, to stdout if no stream is named; a pipe gets it without colours, as wide as is said."""
    target = stream or sys.stdout
    Console(file=target, width=None if target.isatty() else width, highlight=False).print(found)


def print_verdicts(claims: Iterable[JudgedClaim], title: str, stream: Stream = None, checked: bool = True) -> None:
    """Print the small table of verdicts: claim, reported by the text, measured with its interval, verdict."""
    claims = list(claims)
    known, unchecked = among(claims), "" if checked else f" ({UNCHECKED})"
    found = table("claim", "reported", "measured", "verdict", title=title, whole=("claim", "measured"))
    for claim in (weighed(one, known) for one in claims):
        sign = SIGNS[claim.verdict]
        verdict = text(f"{sign} {claim.verdict}{unchecked}", COLOURS[sign])
        found.add_row(text(claim.id), text(claim.printed or "-"), text(numbers(claim)), verdict)
    show(found, stream, 120)


def print_witnesses(records: Iterable[Found], stream: Stream = None) -> None:
    """Print the table of what witnesses found: record, seeds, rows, outcome, greatest difference."""
    found = table("record", "seeds", "rows", "outcome", "difference", "remarks")
    for one in records:
        record = text(f"{one.run.recipe.name} {one.run.folder.name}")
        if one.witness is None:
            found.add_row(record, "-", "-", text("not made again", "yellow"), "-", text(one.fault))
            continue
        seeds, (compared, recorded) = f"{len(one.witness.seeds)} of {len(one.run.seeds)}", one.witness.rows
        rows = f"first {compared} of {recorded}" if compared < recorded else str(compared)
        outcome = text(one.witness.outcome, "red" if one.witness.outcome == "differs" else "green")
        remarks = text("; ".join(filter(None, [one.witness.where, "found before" * one.before])))
        found.add_row(record, seeds, rows, outcome, number(one.witness.difference), remarks)
    show(found, stream)


STATES = {"running": "cyan", "finished": "green", "failed": "red", "damaged": "red"}
"""The colour of a run's state."""


def print_states(runs: Iterable[Status], stream: Stream = None) -> None:
    """Print the table of what runs, what is done, what failed and why."""
    found = table("run", "state", "seeds", "left", "note")
    for one in runs:
        name = f"{one.name} {one.label}".strip() or str(one.folder)
        left = "" if one.left is None else duration(one.left)
        state = text(one.state, STATES.get(one.state, "yellow"))
        found.add_row(text(name), state, f"{one.done} of {one.wanted}", left, text(one.words))
    show(found, stream)
