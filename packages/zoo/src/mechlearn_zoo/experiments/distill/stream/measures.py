"""What is measured of streams of sub-tasks, of each seed."""

from claimlab import Rows, number


def gain(rows: Rows) -> float | None:
    """Return what the stream's teacher is worth at the end: a fresh student's accuracy less that without a teacher."""
    found = _stages(rows, "stream", "gain")
    return found[-1] if found else None


def against_fixed(rows: Rows) -> float | None:
    """Return what it is worth more than the fixed domain's."""
    ours, theirs = _stages(rows, "stream", "gain"), _stages(rows, "fixed", "gain")
    return ours[-1] - theirs[-1] if ours and theirs else None


def against_untrained(rows: Rows) -> float | None:
    """Return what it is worth more than before it was trained."""
    found = _stages(rows, "stream", "gain")
    return found[-1] - found[0] if found else None


def fading(rows: Rows) -> float | None:
    """Return the meta-gradient's length in the last stage of the fixed domain over that in the first."""
    found = _stages(rows, "fixed", "signal")
    return found[-1] / max(found[0], 1e-12) if found else None


def staying(rows: Rows) -> float | None:
    """Return the meta-gradient's length in the stream's last stage over that in the fixed domain's."""
    ours, theirs = _stages(rows, "stream", "signal"), _stages(rows, "fixed", "signal")
    return ours[-1] / max(theirs[-1], 1e-12) if ours and theirs else None


def _stages(rows: Rows, domain: str, key: str) -> list[float]:
    """A number in the stages that have it, in their order."""
    some = rows.where(lambda row: row.get(key) is not None, domain=domain)
    return [number(row, key) for row in sorted(some, key=lambda row: number(row, "stage"))]
