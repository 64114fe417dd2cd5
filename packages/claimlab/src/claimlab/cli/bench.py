"""`bench`: finding and running benchmarks, and what every one records: rows of ratios, their file, their tables.

Benchmarks are no part of an installed package. They lie in the folder `benchmarks/` beside the sources of a package of
experiments, which is imported as the package `TOP_benchmarks`; its listing is the index. What a benchmark defines is said in
its `__init__.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import importlib.util
import json
import math
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from claimlab.cli.answers import fields_help, print_json
from claimlab.cli.options import named_path, package, package_option
from claimlab.errors import LabError, UsageError, suggestion
from claimlab.fields import build, parse_overrides, settings_of
from claimlab.rows import Row
from claimlab.running.provenance.machine import hardware
from claimlab.running.provenance.made import now, versions
from claimlab.running.provenance.source_tree import code_of, folder_of, sources
from claimlab.running.storage import ensure_file, write_atomically
from claimlab.showing.wording import interval, number


def declare(parser: argparse.ArgumentParser) -> None:
    """Add its options."""
    parser.usage = f"{parser.prog} NAME [options] [--field value ...]"
    parser.add_argument("name", metavar="NAME", nargs="?", help="a file of the folder benchmarks/, such as agreement")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: tries the benchmark out, its ratios mean nothing")
    parser.add_argument("--out", type=named_path, metavar="FILE", help="write the rows as JSON lines too")
    package_option(parser)


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Measure and show the rows."""
    top = package(options).partition(".")[0]
    if options.name is None:
        known = suggestion("", names(folder(top)))
        raise UsageError(f"{options.parser.prog} should be given the name of a benchmark. Found none. {known}")
    bench = load(options.name, top)
    if options.help:
        print(fields_help(bench.name, bench.title, bench.config, bench.presets))
        return 0
    rows = measure(bench, "quick" if options.quick else "full", rest, options.out)
    if options.json:
        print_json({"bench": bench.name, "hardware": hardware(), "rows": rows})
    else:
        print_rows(rows)
    return 0


@dataclass(frozen=True)
class Bench:
    """An imported benchmark, and the top-level package that it belongs to."""

    name: str
    title: str
    module: ModuleType
    config: type[Any]
    presets: Mapping[str, Any]
    run: Callable[[Any, Callable[[str], None]], Iterator[Row]]
    top: str


def folder(top: str) -> Path:
    """Return the folder of a top-level package's benchmarks: beside its sources in a checkout, else in the current folder."""
    beside = folder_of(top).parents[1] / "benchmarks"  # benchmarks/ stands beside src/
    for candidate in (beside, Path.cwd() / "benchmarks"):
        if (candidate / "__init__.py").is_file():
            return candidate
    raise UsageError(
        f"The command bench should find the folder benchmarks/ of {top}'s repository. Found none beside the package or here. "
        "Clone the repository and run the command in it."
    )


def names(where: Path) -> list[str]:
    """Return the benchmarks of a folder: its files, not the folders below it."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules([str(where)]) if not module.ispkg)


def load(name: str, top: str) -> Bench:
    """Import a benchmark.

    Raises:
        UsageError: if there is no such benchmark.
        LabError: if it cannot be imported, or lacks `Config`, `PRESETS` or `run`.
    """
    wanted, known = name.replace("_", "-"), names(folder(top))
    if wanted not in known:
        raise UsageError(f"A benchmark should be one that exists. Found {name!r}. {suggestion(wanted, known)}")
    package = load_package(top)
    try:
        module = importlib.import_module(f"{package}.{wanted.replace('-', '_')}")
    except ImportError as error:
        raise LabError(f"The benchmark {wanted} should be importable. Found {error}. Install what it needs.") from error
    missing = [part for part in ("Config", "PRESETS", "run") if not hasattr(module, part)]
    if missing:
        raise LabError(f"The benchmark {wanted} should define {missing[0]}. Found none. See benchmarks/__init__.py.")
    title = (module.__doc__ or "").strip().partition("\n")[0]
    return Bench(wanted, title, module, module.Config, module.PRESETS, module.run, top)


def load_package(top: str) -> str:
    """Make the folder of benchmarks importable, and return the name: `TOP_benchmarks`; once made so, it stays."""
    name = f"{top}_benchmarks"
    if name in sys.modules:
        return name
    where = folder(top)
    path = where / "__init__.py"
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(where)])
    if spec is None or spec.loader is None:
        raise LabError(f"{path} should be a Python file. Found one that Python cannot load. Restore it.")
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    return name


def measure(bench: Bench, preset: str, words: Sequence[str], out: Path | None = None) -> list[Row]:
    """Run a benchmark; rows are written to `out` as they are made, and stderr says what is under way."""
    options = ("quick", "out", "package", "json", "help", "traceback")
    overrides = parse_overrides(settings_of(bench.config), words, bench.name, options)
    config = build(bench.presets[preset], overrides)
    if out is not None:
        ensure_file(out)
    made = measured_here(bench.top)
    rows: list[Row] = []
    with contextlib.redirect_stdout(sys.stderr):  # stdout is for the result alone, whatever a peer prints
        for row in bench.run(config, functools.partial(print, file=sys.stderr, flush=True)):
            rows.append(row)
            if out is not None:
                write_results(out, bench.name, made, rows)
    return rows


KEYS = ("workload", "method", "ratio", "low", "high", "memory_ratio", "exact")
"""What every row holds; numbers are None where nothing was measured, and `note` says why."""

HEADINGS = ("method", "time over plain", "range", "memory over plain", "masks", "remarks")
"""The columns of the tables."""


def measured_here(package: str) -> Row:
    """Return hardware, commit, time and versions of what is measured now, as columns of its rows."""
    code, names = code_of(package), (*sources(package), "torch", "numpy")
    return {"hardware": hardware(), "commit": code.commit, "dirty": code.changes, "time": now(), **versions(names)}


def write_results(path: Path, bench: str, made: Row, rows: Iterable[Row]) -> None:
    """Write rows atomically, one JSON object a line, each with where and when it was measured."""
    facts: Row = {"bench": bench, **made}
    write_atomically(path, "".join(json.dumps({**facts, **row}, allow_nan=False) + "\n" for row in rows))


def cells(row: Row) -> tuple[str, ...]:
    """Return a row as a table shows it, in the order of `HEADINGS`.

    >>> cells({"method": "ours", "ratio": 1.234, "low": 1.2, "high": 1.3, "memory_ratio": 1.05, "exact": True})
    ('ours', '1.23', '[1.2, 1.3]', '1.05', 'exact', '')
    """
    values = [row.get(key) for key in ("ratio", "low", "high", "memory_ratio")]
    ratio, low, high, memory = (value if isinstance(value, int | float) else None for value in values)
    remarks = "; ".join(str(row[key]) for key in ("note", "version") if row.get(key))
    return str(row["method"]), number(ratio), interval(low, high), number(memory), _masks(row), remarks


def _masks(row: Row) -> str:
    exact, mismatches = row.get("exact"), row.get("mismatches")
    if exact is None:
        return "-"
    if not exact:
        return f"differ ({mismatches} components)" if mismatches else "differ"
    return f"exact ({mismatches} differ by rounding)" if mismatches else "exact"


def print_rows(rows: Sequence[Row]) -> None:
    """Print the tables."""
    from claimlab.showing.terminal import show, table, text  # noqa: PLC0415  # rich, which no benchmark is to measure

    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(str(row["workload"]), []).append(row)
    for workload, members in groups.items():
        found = table(*HEADINGS, title=workload, whole=HEADINGS[:4])
        for row in sorted(members, key=lambda row: ratio if isinstance(ratio := row["ratio"], int | float) else math.inf):
            found.add_row(*map(text, cells(row)))
        print()
        show(found)
