"""What every benchmark records: rows of ratios, their file, their tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from claimlab.rows import Row
from claimlab.running.provenance.machine import hardware
from claimlab.running.provenance.made import now, versions
from claimlab.running.provenance.source_tree import code_of, sources
from claimlab.running.storage import write_atomically
from claimlab.showing.wording import interval, number

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


def _speed(row: Row) -> float:
    ratio = row["ratio"]
    return float(ratio) if isinstance(ratio, int | float) else float("inf")


def print_rows(rows: Sequence[Row]) -> None:
    """Print the tables."""
    from claimlab.showing.terminal import show, table, text  # noqa: PLC0415  # rich

    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(str(row["workload"]), []).append(row)
    for workload, members in groups.items():
        found = table(*HEADINGS, title=workload, whole=HEADINGS[:4])
        for row in sorted(members, key=_speed):
            found.add_row(*map(text, cells(row)))
        print()
        show(found)
