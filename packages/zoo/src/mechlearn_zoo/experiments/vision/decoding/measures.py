"""How reconstructions from simulated voxels are measured. `[P]`: printed, from memory, not checked."""

from claimlab import EachSeed, Rows, number


def less(key: str, one: str, other: str, stopped: bool = False) -> EachSeed:
    """Return a measure: how much higher one way's reconstructions score than another's, mean over seeds.

    Args:
        key: of the score.
        one: way.
        other: way.
        stopped: where validation stops searches; ways without a search have one score.
    """

    def difference(rows: Rows) -> float | None:
        found = rows.where(kind="reconstruction", gain=1.0)
        pair = [found.where(method=method) for method in (one, other)]
        if not all(pair) or (stopped and not any(f"stopped_{key}" in some[0] for some in pair)):
            return None
        names = [f"stopped_{key}" if stopped and f"stopped_{key}" in some[0] else key for some in pair]
        first, second = (number(some[0], name) for some, name in zip(pair, names, strict=True))
        return first - second

    return EachSeed(difference)


def layers(rows: Rows) -> float | None:
    """Return how much better the highest layer is decoded than the first."""
    found = {str(row["layer"]): number(row, "r") for row in rows.where(kind="layer", gain=1.0)}
    return found["hidden"] - found["first"] if found else None
