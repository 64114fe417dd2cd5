"""Rows: what an experiment records, one JSON object a line, kept whole seeds at a time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from craik.lab.errors import LabError
from craik.lab.running.storage import write_atomically

Row = dict[str, str | int | float | bool | None]
"""One recorded observation: a flat dict of JSON scalars."""

_SEED_FIRST = re.compile(r'^\{"seed": (-?\d+)[,}]')


def complete_row(row: Mapping[str, object], seed: int, seconds: float) -> Row:
    """The row as it is recorded: checked, with `seed` and `seconds` (since that seed started) as its first keys.

    >>> complete_row({"accuracy": 0.5}, seed=3, seconds=1.23456)
    {'seed': 3, 'seconds': 1.235, 'accuracy': 0.5}

    Raises:
        LabError: a value is no finite JSON scalar, or `seed` or `seconds` contradict the harness's own.
    """
    if row.get("seed", seed) != seed:
        raise LabError(f"a row's 'seed' must be the seed that runs ({seed}), but found {row['seed']!r}; leave it out")
    if "seconds" in row:
        raise LabError("a row's 'seconds' is written by the harness; call the experiment's own time something else")
    completed: Row = {"seed": seed, "seconds": round(seconds, 3)}
    for key, value in row.items():
        completed[key] = _scalar(key, value)
    return completed


def _scalar(key: str, value: object) -> str | int | float | bool | None:
    if isinstance(value, float) and not math.isfinite(value):
        raise LabError(f"a row's values must be finite, but '{key}' is {value}; record None where there is no number")
    if value is None or isinstance(value, str | int | float):
        return value
    found = type(value).__name__
    raise LabError(f"a row's values must be str, int, float, bool or None, but '{key}' is a {found}; convert it first")


def encode(row: Row) -> str:
    """One line of `rows.jsonl`, with its line break."""
    return json.dumps(row, allow_nan=False) + "\n"


def write_rows(path: Path, seeds: Mapping[int, Sequence[Row]]) -> None:
    """Replaces the recorded rows atomically, sorted by seed; within a seed they stay in the order they were made in."""
    write_atomically(path, "".join(encode(row) for seed in sorted(seeds) for row in seeds[seed]))


@dataclass(frozen=True)
class Recorded:
    """What a `rows.jsonl` holds: the rows of each whole seed, the seeds that had an unreadable line, how many such lines."""

    seeds: dict[int, list[Row]]
    damaged: tuple[int, ...]
    unreadable: int = 0


def read_rows(path: Path) -> Recorded:
    """Reads recorded rows; a seed that has lost a line is left out, as half a seed must not pass for a whole one.

    An unreadable line that does not tell its seed condemns the seeds of the lines before and after it.
    """
    if not path.exists():
        return Recorded({}, ())
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    rows = [_decode(line) for line in lines]
    damaged: set[int] = set()
    for index, (line, row) in enumerate(zip(lines, rows, strict=True)):
        if row is None:
            damaged |= _seeds_of_damage(line, rows[:index], rows[index + 1 :])
    seeds: dict[int, list[Row]] = {}
    for row in rows:
        if row is not None and _seed(row) not in damaged:
            seeds.setdefault(_seed(row), []).append(row)
    return Recorded(seeds, tuple(sorted(damaged)), rows.count(None))


def _decode(line: str) -> Row | None:
    try:
        row: Any = json.loads(line, parse_constant=_refuse)
    except ValueError:
        return None
    whole = isinstance(row, dict) and isinstance(row.get("seed"), int)  # pyright: ignore[reportUnknownMemberType] # JSON
    return row if whole else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")  # Python's reader would let NaN through


def _seed(row: Row) -> int:
    seed = row["seed"]
    if not isinstance(seed, int):  # _decode lets no other row through
        raise LabError(f"a row's seed must be a whole number, but found {seed!r}; delete that line")
    return seed


def _seeds_of_damage(line: str, before: Iterable[Row | None], after: Iterable[Row | None]) -> set[int]:
    told = _SEED_FIRST.match(line)
    if told:
        return {int(told.group(1))}
    neighbours = [next((row for row in side if row), None) for side in (reversed(list(before)), after)]
    return {_seed(row) for row in neighbours if row}
