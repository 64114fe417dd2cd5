"""What is claimed of verdicts; written before any of these tables was asked."""

from collections.abc import Sequence

import numpy as np

from claimlab import Claim, Measure, Measurement, Row, Rows, at_least, at_most, low_above, low_at_least
from mechlearn.tables.comparing import POOLED
from mechlearn_zoo.experiments.own_data.measures import BY_SEED, SOURCE, mean_of, share
from mechlearn_zoo.experiments.own_data.verdict.run import GAINFUL, NULLS, TAGGED

TRUE = 5.0
"""Points that a gain at sites to come must have to count as one that should be seen."""
TRIED = "Written before any of these tables was asked; no setting was searched on them."


def worst(key: str, boards: Sequence[str]) -> Measure:
    """Return a measure: the mean over seeds of a number of the verdicts, on the board whose mean over seeds is least."""

    def measure(rows: Rows) -> Measurement | None:
        found = [one for one in (mean_of(key, (board,))(rows) for board in boards) if one is not None]
        return min(found, key=lambda one: one.value, default=None)

    return measure


def can_gain(rows: Rows, row: Row) -> bool:
    """Return whether some method that compares sites gains `TRUE` points on the best pooled model at sites to come."""
    return _best(rows, row, False) - _best(rows, row, True) >= TRUE


def can_gain_on_network(rows: Rows, row: Row) -> bool:
    """Return whether some method that compares sites gains `TRUE` points on the pooled network at sites to come."""
    return _best(rows, row, False) >= TRUE


def _best(rows: Rows, row: Row, pooled: bool) -> float:
    gains = rows.where(lambda one: (one["method"] in POOLED) == pooled, kind="gain", board=row["board"])["true"]
    return max(gains, default=-np.inf)


CLAIMS = (
    Claim(
        id="own-data-verdict.nulls",
        text="'Helps' is said of at most 8 of 100 tables on which nothing can be gained.",
        source=SOURCE,
        measure=share("helps", NULLS),
        condition=at_most(0.08, of="share of null tables of which it is said"),
        kind="ours",
        tried=TRIED,
    ),
    Claim(
        id="own-data-verdict.power",
        text="It is said of 12 in 20 tables on which some method gains five points on the best pooled model at sites to come.",
        source=SOURCE,
        measure=share("helps", GAINFUL, can_gain),
        condition=at_least(0.6, of="share of such tables of which it is said").instead_of(
            at_least(0.6, of="share of tables with five points to gain on the pooled network of which it is said"),
            "What helps is held against the best simple model, not the pooled network alone.",
            share("helps", GAINFUL, can_gain_on_network),
        ),
        kind="ours",
        tried=f"{TRIED} 38 tables count, 37 of signed cells; by the pooled network alone 68. Of 42 that were told 'helps', "
        "screening was named in 39, Cochran's Q in two and the AND-mask in one.",
    ),
    Claim(
        id="own-data-verdict.harms",
        text="'Harms' is said of 8 in 10 tables whose tag is at every site judged as it is at most.",
        source=SOURCE,
        measure=share("harms", TAGGED),
        condition=at_least(0.8, of="share of such tables of which it is said"),
        kind="ours",
        tried=TRIED,
    ),
    Claim(
        id="own-data-verdict.true",
        text="What is said to help does: the method named gains on what it was held against, at sites to come.",
        source=SOURCE,
        measure=mean_of("true", (*NULLS, *GAINFUL, *TAGGED), lambda row: row["word"] == "helps"),
        condition=low_above(0.0, of="points at sites to come, mean over seeds in which 'helps' was said,"),
        kind="ours",
        tried=TRIED,
    ),
    Claim(
        id="own-data-verdict.kept",
        text="The model that is kept is not a point worse than the pooled network at sites to come, on any board.",
        source=SOURCE,
        measure=worst("kept true", (*NULLS, *GAINFUL, *TAGGED)),
        condition=low_at_least(-1.0, of="points over the pooled network on the board whose mean over seeds is least,"),
        kind="ours",
        tried=f"{TRIED} {BY_SEED}",
    ),
)
