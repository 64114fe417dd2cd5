"""Rows that were made again, beside those recorded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from claimlab.rows import Row, Scalar
from claimlab.running.run import Outcome


@dataclass(frozen=True)
class Comparison:
    """What lies between recorded rows and those made again.

    Args:
        compared: how many rows there were in both.
        recorded: how many are recorded of the seeds.
        difference: the greatest of two numbers, as a share of the larger; None where something else than numbers differs.
        where: the first row and column that differ, with both values.
    """

    compared: int
    recorded: int
    difference: float | int | None
    where: str

    def outcome(self, tolerance: float) -> Outcome:
        """Return what a witness calls it; with a tolerance of 0 rows are equal or differ."""
        if not self.where:
            return "equal"
        return "within tolerance" if self.difference is not None and self.difference <= tolerance else "differs"


def compare(recorded: Mapping[int, Sequence[Row]], made: Mapping[int, Sequence[Row]], finished: Collection[int]) -> Comparison:
    """Compare rows but for their `seconds`, and for columns that came since: all that is recorded must be found again.

    Args:
        recorded: of each seed.
        made: of some of these seeds.
        finished: the seeds that were made whole: they must have as many rows as were recorded.
    """
    differences: list[tuple[float | None, str]] = []
    for seed, rows in made.items():
        for index, (old, new) in enumerate(zip(recorded[seed], rows, strict=False)):
            differences += [(share, f"seed {seed}, row {index}: {words}") for share, words in _differences(old, new)]
        if len(rows) > len(recorded[seed]) or (seed in finished and len(rows) < len(recorded[seed])):
            differences.append((None, f"seed {seed}: {len(rows)} rows, recorded {len(recorded[seed])}"))
    shares = [share for share, _ in differences]
    numbers = [share for share in shares if share is not None]
    return Comparison(
        compared=sum(min(len(rows), len(recorded[seed])) for seed, rows in made.items()),
        recorded=sum(len(recorded[seed]) for seed in made),
        difference=max(numbers, default=0.0) if len(numbers) == len(shares) else None,
        where=differences[0][1] if differences else "",
    )


def _differences(old: Row, new: Row) -> list[tuple[float | None, str]]:
    found: list[tuple[float | None, str]] = []
    for key in old:
        if key == "seconds":
            continue
        if key not in new:
            found.append((None, f"{key} is only recorded"))
        elif old[key] != new[key] or type(old[key]) is not type(new[key]):
            found.append((_share(old[key], new[key]), f"{key} {new[key]!r}, recorded {old[key]!r}"))
    return found


def _share(old: Scalar, new: Scalar) -> float | None:
    """Return how far apart two numbers are, as a share of the larger; only numbers with a fraction may be close."""
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) / max(abs(old), abs(new))
    return None
