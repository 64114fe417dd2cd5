"""`mechlearn fit sites`: will a model survive the next site?"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mechlearn.cli.common import OUT, UsageError, ensure_file, plain, print_json, shown, write_text
from mechlearn.cli.fit.inputs import columns_of_file, command_of
from mechlearn.cli.fit.output import teller
from mechlearn.cli.fit.sites.page import sites_page
from mechlearn.tables.disagreement import audit
from mechlearn.tables.reading import column
from mechlearn.tables.reading_in import SMALL, Table, check_target, prepare
from mechlearn.tables.saving.parts import NOWHERE
from mechlearn.tables.transport import DEFAULT, SIMPLE, Effort, Transport, order_of, second_level, transport_table

FORM = "--model should name a module and a pipeline in it, as mine:pipeline"

AUDITED = 40_000
"""Sites times columns up to which the report has the audit, which looks at each pair."""


def answer_sites(options: argparse.Namespace, start: float) -> int:
    """Read the table, ask it, write the report, and print the verdict, a line for each candidate, what failed and notes."""
    path = (options.out or OUT / f"sites-{options.file.stem}") / "report.html"
    ensure_file(path)
    try:
        found, table = _asked(options)
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(str(error)) from error
    facts = {"target": options.target, "command": command_of(options), "features": _audit(table)}
    write_text(path, sites_page(found, facts))
    if options.json:
        print_json({**found.as_dict(), "features": facts["features"], "report": shown(path)})
        return 0
    print(plain(str(found)))
    print(f"report {shown(path)}\n{time.perf_counter() - start:.0f} s")
    return 0


def _asked(options: argparse.Namespace) -> tuple[Transport, Table]:
    names = [one.strip() for names in options.candidates or () for one in names.split(",")]
    candidates: dict[str, Any] = {one: None for one in names if one not in SIMPLE}
    with _from_here():
        if options.model is not None:
            candidates = {options.model: model_of(options.model), **candidates}
        columns, notes = columns_of_file(options)
        target, sites = column(columns, options.target), column(columns, options.environment)
        inputs = {name: values for name, values in columns.items() if name not in (options.target, options.environment)}
        check_target(target, options.target, options.task)
        table = prepare(inputs, target, sites, options.task)
        if options.anonymous:
            masked = tuple(f"site {place + 1}" if name != SMALL else name for place, name in enumerate(table.sites))
            table = replace(table, sites=masked, notes=tuple(note for note in table.notes if note not in table.naming))
        frame = None if options.model is None else _frame(inputs)
        if frame is not None:
            frame = frame.iloc[order_of(sites, len(target))]
        progress: Callable[[int, int], None] | None = None if options.json or not sys.stderr.isatty() else teller(NOWHERE)
        simple = (*DEFAULT, *(one for one in names if one in SIMPLE and one not in DEFAULT))
        effort = Effort(60 * options.budget, None, progress)
        found = transport_table(table, candidates, simple, options.seed, effort, frame)
    return replace(found, notes=(*notes, *found.notes)), table


def _audit(table: Table) -> list[dict[str, Any]]:
    """What the sites disagree about, by column; of columns that are constant within sites nothing can be seen."""
    if len(table.sites) * len(table.names) > AUDITED:
        return []
    known = audit(table, permutations=50, rows_per_site=300)
    level = second_level(table)
    return [one._asdict() for one in known.features if one.column not in level]


def _frame(inputs: dict[str, Any]) -> Any:  # noqa: ANN401  # of pandas
    """The file's columns by name, for a person's own pipeline; None without pandas: it sees numbers then."""
    try:
        pandas: Any = importlib.import_module("pandas")
    except ImportError:
        return None
    return pandas.DataFrame(inputs)


@contextmanager
def _from_here() -> Generator[None]:
    """Import from this folder, also in processes that are started."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def model_of(where: str) -> Any:  # noqa: ANN401  # of any library
    """Import a person's own estimator, or call what makes one."""
    module, _, name = where.partition(":")
    if not (module and name):
        raise ValueError(f"{FORM}. Found {where!r}.")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found() if callable(found) and not (hasattr(found, "fit") and not isinstance(found, type)) else found
    except Exception as error:  # of anybody's code
        raise ValueError(f"{FORM}, that can be imported. Found {where!r}: {type(error).__name__}: {error}.") from error
