"""`mechlearn fit sites`: will a model survive the next site?"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mechlearn.cli.common import UsageError, print_json
from mechlearn.cli.fit.inputs import columns_of_file
from mechlearn.cli.fit.output import teller

if TYPE_CHECKING:
    from mechlearn.tables.transport import Transport

FORM = "--model should name a module and a pipeline in it, as mine:pipeline"


def answer_sites(options: argparse.Namespace) -> int:
    """Read the table, ask it, and print the verdict, a line for each candidate, what failed and notes on the table.

    Raises:
        UsageError: if the file, the table or the model cannot be used.
    """
    start = time.perf_counter()
    try:
        found = _asked(options)
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(str(error)) from error
    if options.json:
        print_json(found.as_dict())
        return 0
    print(found)
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


def _asked(options: argparse.Namespace) -> Transport:
    from mechlearn.tables.reading import column  # noqa: PLC0415  # needed from here on only
    from mechlearn.tables.reading_in import SMALL, check_cells, check_target, prepare  # noqa: PLC0415
    from mechlearn.tables.saving.parts import NOWHERE  # noqa: PLC0415
    from mechlearn.tables.transport import transport_table  # noqa: PLC0415

    candidates = {} if options.model is None else {options.model: model_of(options.model)}
    columns, notes = columns_of_file(options)
    target, sites = column(columns, options.target), column(columns, options.environment)
    inputs = {name: values for name, values in columns.items() if name not in (options.target, options.environment)}
    check_target(target, options.target, options.task)
    check_cells(inputs)
    table = prepare(inputs, target, sites, options.task)
    if options.anonymous:
        masked = tuple(f"site {place + 1}" if name != SMALL else name for place, name in enumerate(table.sites))
        table = replace(table, sites=masked, notes=tuple(note for note in table.notes if note not in table.naming))
    progress: Callable[[int, int], None] | None = None if options.json or not sys.stderr.isatty() else teller(NOWHERE)
    found = transport_table(table, candidates, seed=options.seed, progress=progress)
    return replace(found, notes=(*notes, *found.notes))


def model_of(where: str) -> Any:  # noqa: ANN401  # of any library
    """Import a person's own estimator, or call what makes one, from this folder or an installed package.

    Raises:
        ValueError: if there is none.
    """
    module, _, name = where.partition(":")
    if not (module and name):
        raise ValueError(f"{FORM}. Found {where!r}.")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found() if callable(found) and not (hasattr(found, "fit") and not isinstance(found, type)) else found
    except Exception as error:  # of anybody's code
        raise ValueError(f"{FORM}, that can be imported. Found {where!r}: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.remove(here)
