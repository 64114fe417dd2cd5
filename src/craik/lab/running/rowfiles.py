"""Files of rows: one JSON object a line, compressed, kept whole seeds at a time.

`zcat rows.jsonl.gz` shows one, `pandas.read_json("rows.jsonl.gz", lines=True)` reads one.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from craik.lab.errors import LabError
from craik.lab.rows import Row, Scalar
from craik.lab.running.storage import write_atomically

ROWS = "rows.jsonl.gz"
"""The name of a run's file of rows."""

_SEED_FIRST = re.compile(r'^\{"seed": (-?\d+)[,}]')


def complete_row(row: Mapping[str, object], seed: int, seconds: float) -> Row:
    """The row as it is recorded: checked, with `seed` and `seconds` (since that seed started) as its first keys.

    >>> complete_row({"accuracy": 0.5}, seed=3, seconds=1.23456)
    {'seed': 3, 'seconds': 1.235, 'accuracy': 0.5}

    Raises:
        LabError: a value is no finite JSON scalar, or `seed` or `seconds` contradict the lab's own.
    """
    if row.get("seed", seed) != seed:
        raise LabError(f"a row's 'seed' must be the seed that runs ({seed}), but found {row['seed']!r}; leave it out")
    if "seconds" in row:
        raise LabError("a row's 'seconds' is written by the lab; call the experiment's own time something else")
    completed: Row = {"seed": seed, "seconds": round(seconds, 3)}
    for key, value in row.items():
        if key != "seed":
            completed[key] = _scalar(key, value)
    return completed


def _scalar(key: str, value: object) -> Scalar:
    if isinstance(value, float) and not math.isfinite(value):
        raise LabError(f"a row's values must be finite, but '{key}' is {value}; record None where there is no number")
    if value is None or isinstance(value, str | int | float):
        return value
    found = type(value).__name__
    raise LabError(f"a row's values must be str, int, float, bool or None, but '{key}' is a {found}; convert it first")


def encode(row: Row) -> str:
    """One line of a file of rows, with its line break."""
    return json.dumps(row, allow_nan=False) + "\n"


def write_rows(path: Path, seeds: Mapping[int, Sequence[Row]]) -> None:
    """Replaces the recorded rows atomically, sorted by seed; within a seed they stay in the order they were made in.

    Equal rows give equal bytes: the file knows no time of its own.
    """
    lines = "".join(encode(row) for seed in sorted(seeds) for row in seeds[seed])
    write_atomically(path, gzip.compress(lines.encode(), mtime=0))


@dataclass(frozen=True)
class Recorded:
    """What a file of rows holds: the rows of each whole seed, the seeds that had an unreadable line, how many such lines."""

    seeds: dict[int, list[Row]]
    damaged: tuple[int, ...]
    unreadable: int = 0


def read_rows(path: Path) -> Recorded:
    """Reads recorded rows; a seed that has lost a line is left out, as half a seed must not pass for a whole one.

    An unreadable line that does not tell its seed condemns the seeds of the lines before and after it.

    Args:
        path: compressed or not; a file that is not there holds nothing.
    """
    if not path.exists():
        return Recorded({}, ())
    lines = _text(path.read_bytes()).splitlines()
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


def read_partial(path: Path) -> list[Row]:
    """The rows of a seed that may still be half-written: all before the first unreadable line; none without a file."""
    if not path.exists():
        return []
    rows = (_decode(line) for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    return [row for row in itertools.takewhile(lambda row: row is not None, rows) if row]


def _text(data: bytes) -> str:
    """The text of a file; one whose compressed end is damaged keeps what comes before, and a line that is none."""
    if not data.startswith(b"\x1f\x8b"):
        return data.decode(errors="replace")
    try:
        return gzip.decompress(data).decode(errors="replace")
    except (EOFError, OSError, zlib.error):
        return _readable(data).decode(errors="replace") + "\0"


def _readable(data: bytes) -> bytes:
    reader, found = zlib.decompressobj(wbits=31), bytearray()
    with contextlib.suppress(zlib.error):
        for byte in range(0, len(data), 64):
            found += reader.decompress(data[byte : byte + 64])
    return bytes(found)


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
