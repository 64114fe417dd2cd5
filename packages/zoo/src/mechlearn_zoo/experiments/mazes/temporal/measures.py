"""What an arm reaches in unseen levels, as a share of the best value."""

from claimlab import EachSeed, Rows


def ahead(arm: str, other: str, best: bool = False) -> EachSeed:
    """Return a measure: an arm's share at the end less another's there, or less the most that it reaches; mean over seeds."""

    def number(rows: Rows) -> float | None:
        ours, theirs = (rows.where(arm=name, last=True)["unseen"] for name in (arm, other))
        theirs = rows.where(arm=other)["unseen"] if best else theirs
        return ours[0] - max(theirs) if ours and theirs else None

    return EachSeed(number)
