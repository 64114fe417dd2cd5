"""Files of rows: one JSON object a line, compressed, kept whole seeds at a time.

`zcat rows.jsonl.gz` shows one, `pandas.read_json("rows.jsonl.gz", lines=True)` reads one.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import itertools
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from claimlab.decoding import parse_object
from claimlab.errors import LabError
from claimlab.rows import Row, Scalar

ROWS = "rows.jsonl.gz"
"""The name of a run's file of rows."""

LARGEST = 2**26
"""Bytes of a file of rows, unpacked: 64 MiB, sixteen times the largest recorded one."""

FAULTY = 1000
"""Unreadable lines beyond which a file is none of rows."""

_SCALARS = frozenset({str, int, float, bool, type(None)})
_SEED_FIRST = re.compile(r'^\{"seed": (-?\d+)[,}]')


def complete_row(row: Mapping[str, object], seed: int, seconds: float) -> Row:
    """Return the row as it is recorded: checked, with `seed` and `seconds` (since that seed started) as its first keys.

    >>> complete_row({"accuracy": 0.5}, seed=3, seconds=1.23456)
    {'seed': 3, 'seconds': 1.235, 'accuracy': 0.5}
    """
    if row.get("seed", seed) != seed:
        raise LabError(f"A row's 'seed' should be the seed that runs ({seed}). Found {row['seed']!r}. Leave it out.")
    if "seconds" in row:
        raise LabError("A row should not have 'seconds', which claimlab writes. Found it. Rename the experiment's own.")
    completed: Row = {"seed": seed, "seconds": round(seconds, 3)}
    for key, value in row.items():
        if key != "seed":
            completed[key] = _scalar(key, value)
    return completed


def _scalar(key: str, value: object) -> Scalar:
    if isinstance(value, float) and not math.isfinite(value):
        raise LabError(f"A row's values should be finite. Found {value} for '{key}'. Record None where there is no number.")
    if value is None or isinstance(value, str | int | float):
        return value
    found = type(value).__name__
    raise LabError(f"A row's values should be str, int, float, bool or None. Found a {found} for '{key}'. Convert it first.")


def encode(row: Row) -> str:
    """Return one line of a file of rows, with its line break."""
    return json.dumps(row, allow_nan=False) + "\n"


def packed(seeds: Mapping[int, Sequence[Row]]) -> bytes:
    """Return a file of rows, sorted by seed; within a seed they stay in the order they were made in.

    Equal rows give equal bytes: the file knows no time of its own.
    """
    lines = "".join(encode(row) for seed in sorted(seeds) for row in seeds[seed])
    return gzip.compress(lines.encode(), mtime=0)


def sums_of(seeds: Mapping[int, Sequence[Row]]) -> dict[int, tuple[int, str]]:
    """Return each seed's number of rows and sixteen digits of their digest: they tell half a seed from a whole one."""
    return {seed: (len(rows), _digest(rows)) for seed, rows in seeds.items()}


def _digest(rows: Iterable[Row]) -> str:
    return hashlib.sha256("".join(map(encode, rows)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Fault:
    """What is wrong with a file of rows: at which line, counted from 1, and what."""

    line: int
    what: str


@dataclass(frozen=True)
class Recorded:
    """What a file of rows holds: the rows of whole seeds, seeds that are not whole, how many lines are none, what is wrong."""

    seeds: dict[int, list[Row]]
    damaged: tuple[int, ...]
    unreadable: int = 0
    faults: tuple[Fault, ...] = ()


def read_rows(
    path: Path, sums: Mapping[int, tuple[int, str]] | None = None, finished: tuple[Sequence[int], float] | None = None
) -> Recorded:
    """Read recorded rows; a seed that has lost a line is left out, as half a seed must not pass for a whole one.

    An unreadable line that does not tell its seed condemns the seeds of the lines before and after it.

    Args:
        path: compressed or not; a file that is not there holds nothing.
        sums: what `sums_of` gave when the rows were written.
        finished: some seeds, and the sum of their last rows' `seconds`: what rows without sums can be held against.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Recorded({}, ())
    return rows_in(data, sums, finished)


def rows_in(
    data: bytes, sums: Mapping[int, tuple[int, str]] | None = None, finished: tuple[Sequence[int], float] | None = None
) -> Recorded:
    """Return the same of what such a file holds."""
    text = _text(data)
    if text is None:
        return Recorded({}, (), 1, (Fault(1, f"it has more than {LARGEST:,} bytes when it is unpacked"),))
    lines = text.splitlines()
    rows = [_decode(line) for line in lines]
    if rows.count(None) > FAULTY:
        return Recorded({}, (), rows.count(None), (Fault(rows.index(None) + 1, f"{rows.count(None)} lines are no rows"),))
    faults, seeds, starts = list[_Found](), dict[int, list[Row]](), dict[int, int]()
    for place, (line, row) in enumerate(zip(lines, rows, strict=True)):
        if row is None:
            faults.append(_Found(place + 1, "it is no row", _seeds_of_damage(line, rows[:place], rows[place + 1 :])))
            continue
        seed = _seed(row)
        if seed in seeds and not _continues(rows[place - 1], row):
            faults.append(_Found(place + 1, f"seed {seed} starts for the second time", {seed}))
        seeds.setdefault(seed, []).append(row)
        starts.setdefault(seed, place + 1)
    faults += _against_sums(seeds, starts, sums or {})
    if finished and not faults and not sums:
        faults += _against_time(seeds, starts, *finished)
    damaged = {seed for fault in faults for seed in fault.seeds}
    whole = {seed: some for seed, some in seeds.items() if seed not in damaged}
    said = sorted({Fault(fault.line, fault.what) for fault in faults}, key=lambda fault: fault.line)
    return Recorded(whole, tuple(sorted(damaged)), rows.count(None), tuple(said))


class _Found(NamedTuple):
    """A fault, and the seeds that it condemns."""

    line: int
    what: str
    seeds: set[int]


def _continues(before: Row | None, row: Row) -> bool:
    """Return whether a row can follow another of its seed: at once, and no earlier."""
    return before is None or (before["seed"] == row["seed"] and _seconds(before) <= _seconds(row))


def _against_sums(
    seeds: Mapping[int, list[Row]], starts: Mapping[int, int], sums: Mapping[int, tuple[int, str]]
) -> Iterator[_Found]:
    for seed in sorted(seeds.keys() & sums.keys()):
        count, digest = sums[seed]
        if len(seeds[seed]) != count:
            yield _Found(starts[seed], f"seed {seed} has {len(seeds[seed])} rows, but run.json says {count}", {seed})
        elif _digest(seeds[seed]) != digest:
            yield _Found(starts[seed], f"seed {seed} has other rows than run.json says", {seed})


def _against_time(
    seeds: Mapping[int, list[Row]], starts: Mapping[int, int], finished: Sequence[int], seconds: float
) -> Iterator[_Found]:
    if set(finished) <= seeds.keys():
        total = round(sum(_seconds(seeds[seed][-1]) for seed in finished), 3)
        if abs(total - seconds) > 0.0015:
            what = f"its seeds took {total:g} s, but {seconds:g} s when they were judged: rows are lost"
            yield _Found(max(starts[seed] for seed in finished), what, set(finished))


def read_partial(path: Path) -> list[Row]:
    """Return the rows of a seed that may still be half-written: all before the first unreadable line; none without a file."""
    if not path.exists():
        return []
    rows = (_decode(line) for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    return [row for row in itertools.takewhile(lambda row: row is not None, rows) if row]


def _text(data: bytes) -> str | None:
    """Return the text of a file; one whose compressed end is damaged keeps what comes before, and a line that is none.

    None where it is larger than `LARGEST`, unpacked; no more than that is unpacked.
    """
    if not data.startswith(b"\x1f\x8b"):
        return data.decode(errors="replace") if len(data) <= LARGEST else None
    reader, found = zlib.decompressobj(wbits=31), bytearray()
    with contextlib.suppress(zlib.error):
        for byte in range(0, len(data), 64):  # small pieces: of a damaged one nothing comes out
            found += reader.decompress(data[byte : byte + 64])
            if len(found) > LARGEST:
                return None
    return found.decode(errors="replace") + "\0" * (not reader.eof)


def _decode(line: str) -> Row | None:
    try:
        row = parse_object(line)
    except ValueError:
        return None
    seed, seconds = row.get("seed"), row.get("seconds", 0.0)
    if not isinstance(seed, int) or isinstance(seed, bool) or not isinstance(seconds, int | float):
        return None
    if not _SCALARS.issuperset(map(type, row.values())):
        return None
    return row if all(-1.8e308 < one < 1.8e308 for one in row.values() if isinstance(one, int | float)) else None


def _seed(row: Row) -> int:
    seed = row["seed"]
    if not isinstance(seed, int):  # _decode lets no other row through
        raise LabError(f"A row's seed should be a whole number. Found {seed!r}. Delete that line.")
    return seed


def _seconds(row: Row) -> float:
    seconds = row.get("seconds", 0.0)
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def _seeds_of_damage(line: str, before: Iterable[Row | None], after: Iterable[Row | None]) -> set[int]:
    told = _SEED_FIRST.match(line)
    if told:
        return {int(told.group(1))}
    neighbours = [next((row for row in side if row), None) for side in (reversed(list(before)), after)]
    return {_seed(row) for row in neighbours if row}
