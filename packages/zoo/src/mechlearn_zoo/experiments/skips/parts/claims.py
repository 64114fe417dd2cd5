"""What is claimed of parts, and how it is measured: differences within a seed, whose methods share boards and starts."""

from claimlab import Claim, Greatest, Least, Measure, Measurement, Rows, bootstrap, high_at_most, low_above, number


def differences(rows: Rows, world: str, column: str, ours: str, theirs: str) -> list[float]:
    """Return, for each seed, a column of one method less that of another."""
    one, other = (
        {number(row, "seed"): number(row, column) for row in rows.where(world=world, method=m)} for m in (ours, theirs)
    )
    return [one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())]


def _difference(world: str, column: str, theirs: str) -> Measure:
    def measure(rows: Rows) -> Measurement | None:
        found = differences(rows, world, column, "parts", theirs)
        return bootstrap(found) if found else None

    return measure


def _fewer(rows: Rows) -> Measurement | None:
    found = [-difference for difference in differences(rows, "two", "rollout", "parts", "whole")]
    return bootstrap(found) if found else None


_SOURCE = "thesis chapter 5, limitations: several parallel processes"
_TRIED = (
    "Board, codes and schedules are those of skips-corrupted; nothing was searched; one trial showed what ties cost a ball at "
    "rest. See the experiment's README."
)

CLAIMS = (
    Claim(
        kind="hypothesis",
        id="skips-parts.ahead",
        text="Two balls, each matched at its own distances, both end right more often than matched as one frame.",
        source=_SOURCE,
        measure=_difference("two", "accuracy", "whole"),
        condition=low_above(0, of="test accuracy of parts less that of whole frames, median over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least),
    Claim(
        kind="hypothesis",
        id="skips-parts.fewer",
        text="Matched at their own distances both balls reach the floor in fewer evaluations.",
        source=_SOURCE,
        measure=_fewer,
        condition=low_above(0, of="evaluations of a roll-out of whole frames less those of parts, median over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least),
    Claim(
        kind="control",
        id="skips-parts.twins",
        text="Where both balls are the same, parts have no such advantage.",
        source=_SOURCE,
        measure=_difference("twins", "accuracy", "whole"),
        condition=high_at_most(0.1, of="test accuracy of parts less that of whole frames, twins, median over seeds,"),
        tried=_TRIED,
    ).also_stopped(Greatest),
)
