"""Numbers of one seed's probes of Winograd schemas."""

from claimlab import Rows


def less(one: str, other: str, rows: Rows) -> float | None:
    """Return one of averaging's numbers less another."""
    some = rows.where(kind="final", method="averaging")
    return some[one][0] - some[other][0] if some else None


def inside(rows: Rows) -> float | None:
    """Return 1 where the best guesser is in chance's interval, else 0."""
    some = rows.where(kind="guessers")
    return float(some["low"][0] <= some["best"][0] <= some["high"][0]) if some else None
