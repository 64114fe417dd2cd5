"""The table of a sweep in the terminal: alive while it goes on, once at its end; lines where nobody looks at a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from claimlab.showing.terminal import Stream, show, table, text
from claimlab.showing.wording import counted, duration, number, plain, spread
from claimlab.sweeping.plan import Sweep
from claimlab.sweeping.report import Outcome, as_values
from claimlab.sweeping.search import News, OnNews, best_of


@contextlib.contextmanager
def watched(sweep: Sweep, stream: Stream = None) -> Generator[OnNews, None, None]:
    """Show where a sweep is: a table on a terminal, a line for each trial elsewhere."""
    target = stream or sys.stderr
    if not target.isatty():
        yield Lines(sweep, target)
        return
    start, before = time.monotonic(), list[int]()
    with Live(console=Console(file=target), refresh_per_second=4, transient=True) as live:

        def show(news: News) -> None:
            if news.notice:
                live.console.print(plain(f"note: {news.notice}"), markup=False, highlight=False)
            ended = sum(one.state != "running" for one in news.trials)
            before.append(ended)
            computed, seconds = ended - before[0], time.monotonic() - start
            left = seconds / computed * (sweep.trials * len(sweep.methods) - ended) if computed else None
            live.update(state_table(sweep, news, left))

        yield show


def state_table(sweep: Sweep, news: News, left: float | None) -> Group:
    """Return the table of a sweep under way; `left` are the seconds until all trials are done, as fast as it went so far."""
    rows = table("method", "trials", "now", "best", "setting")
    for method in sweep.methods:
        trials = [one for one in news.trials if one.method == method]
        best = best_of(sweep, trials)
        now = [f"{place}: {number(value)}" for (name, place), value in news.running.items() if name == method]
        setting = as_values(best.chosen) if best else ""
        ended = sum(one.state != "running" for one in trials)
        fates = ", ".join(f"{n} {state}" for state in ("pruned", "failed") if (n := sum(one.state == state for one in trials)))
        cells = (method, f"{ended} of {sweep.trials}" + f" ({fates})" * bool(fates), "  ".join(now))
        rows.add_row(*map(text, cells), text(number(best.value if best else None), "green"), text(setting))
    done, wanted = news.fresh
    words = f"fresh seeds: {done} of {wanted}" if wanted else f"{duration(left)} left" if left else ""
    return Group(Text(f"{sweep.experiment.name}, {sweep.ranges.objective.words}", style="bold"), rows, text(words))


class Lines:
    """One line for each trial that ends, each training on a fresh seed, and each notice."""

    def __init__(self, sweep: Sweep, stream: Stream) -> None:
        self._sweep, self._stream = sweep, stream
        self._told: set[tuple[str, int]] | None = None
        self._fresh: int | None = None

    def __call__(self, news: News) -> None:
        """Write what is new."""
        ended = {(one.method, one.number): one for one in news.trials if one.state != "running"}
        if self._told is None:
            self._told = set(ended)
            if ended:
                self._write(f"{self._sweep.experiment.name}: {counted(len(ended), 'trial')} recorded before")
        if news.notice:
            self._write(f"note: {news.notice}")
        for key in ended.keys() - self._told:
            one, total = ended[key], self._sweep.trials
            value = one.why if one.state == "failed" else number(one.value)
            done = sum(method == one.method for method, _ in ended)
            self._write(f"{one.method} trial {one.number}: {one.state}, {value} ({done} of {total})")
        self._told |= set(ended)
        before, self._fresh = self._fresh, news.fresh[0] if news.fresh[1] else None
        if before is not None and news.fresh[0] > before:
            self._write(f"fresh seeds: {self._fresh} of {news.fresh[1]}")

    def _write(self, line: str) -> None:
        print(plain(line), file=self._stream, flush=True)


def print_outcomes(found: list[Outcome], title: str, stream: Stream = None) -> None:
    """Print the table of what was found: method, trials, best value, on fresh seeds, setting."""
    rows = table("method", "trials", "best", "fresh seeds", "setting", title=title)
    for one in found:
        fates = ", ".join(f"{count} {state}" for state, count in one.tally.items() if count)
        fresh = [f"{name} {number(it.value)} {spread(it.low, it.high, it.n)}" for name, it in one.fresh.items()]
        value, setting = (number(one.best.value), as_values(one.best.chosen)) if one.best else ("-", "")
        rows.add_row(*map(text, (one.method, fates, value, "\n".join(fresh) or "-", setting)))
    show(rows, stream)
