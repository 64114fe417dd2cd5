"""What is claimed of the frames that are skipped, and how it is measured."""

from craik.lab import Claim, Measurement, OverSeeds, Row, Rows, bootstrap, high_below, low_above, number


def share_matched(row: Row, kind: str) -> float:
    """Return the share of slow, or of fast, frames that a prediction was matched with."""
    return number(row, f"{kind}_matched") / max(1.0, number(row, f"{kind}_frames"))


def _ratio(rows: Rows) -> Measurement | None:
    found = [share_matched(row, "slow") / max(1e-9, share_matched(row, "fast")) for row in rows.where(kind="skips")]
    return bootstrap(found) if found else None


def variety(rows: Rows) -> Measurement | None:
    """Return the rarer of two shares: predictions that go one frame ahead, and those that skip more; median over seeds."""
    found = [min(number(row, "ones"), 1 - number(row, "ones")) for row in rows.where(kind="skips")]
    return bootstrap(found) if found else None


_VARIABLE = low_above(0.1, of="share of predictions that go one frame ahead, or that skip more, the rarer,")

CLAIMS = (
    Claim(
        id="skips-timeline.bouncing",
        text="The model avoids the bouncing in the funnel: slow frames are skipped more often than fast ones.",
        source="thesis figure 2.8 and section 2.3.3",
        measure=_ratio,
        condition=high_below(1, of="share of slow frames matched over share of fast ones, median over seeds,"),
    ),
    Claim(
        id="skips-timeline.variable",
        text="It skips a variable number of frames: often only one, often more.",
        source="thesis figure 2.8 and section 2.3.3",
        measure=variety,
        condition=_VARIABLE.instead_of(
            low_above(1.5, of="mean frames a prediction skips ahead, median over seeds,"),
            "A fixed step of 2 passed.",
            OverSeeds("mean_skip", {"kind": "skips"}),
        ),
    ),
    Claim(
        id="skips-timeline.room-runner",
        text="On Room runner it skips a variable number of frames alike.",
        source="thesis figure 2.7 and section 2.3.3",
        measure=variety,
        condition=_VARIABLE.at("room-runner"),
    ),
)
