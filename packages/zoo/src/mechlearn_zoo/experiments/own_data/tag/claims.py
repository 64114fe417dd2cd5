"""What is claimed of a tag that most sites share; written before any judged run."""

from claimlab import Claim, low_above, low_at_least
from mechlearn_zoo.experiments.own_data.measures import BY_SEED, POOLED, SOURCE, TWENTY, least
from mechlearn_zoo.experiments.own_data.tag.run import CELLS

REVERSED, SHUFFLED, KEPT = (
    tuple(cell for cell in CELLS.values() if cell["new"] == new) for new in ("reversed", "shuffled", "as before")
)

CHANGED = (
    f"{TWENTY} With six seeds `reversed` and `cochran` held, and `as-before`, `cost`, `gains` and `filter` did not; with "
    "twenty it is `reversed` that does not."
)

CLAIMS = (
    Claim(
        id="own-data-tag.reversed",
        text="Where the tag is reversed at the new site, the AND-mask is above pooled training, on cells and on digits.",
        source=SOURCE,
        measure=least(("AND-mask",), (POOLED,), REVERSED),
        condition=low_above(0.0, of="points over pooled on the board whose mean over seeds is least,"),
        kind="ours",
        tried=CHANGED,
    ),
    Claim(
        id="own-data-tag.as-before",
        text="Where the tag is as before, the AND-mask loses on both.",
        source=f"{SOURCE}; a claim against us",
        measure=least((POOLED,), ("AND-mask",), KEPT),
        condition=low_above(0.0, of="points of pooled over the AND-mask on the board whose mean over seeds is least,"),
        kind="ours",
        tried=CHANGED,
    ),
    Claim(
        id="own-data-tag.filter",
        text="Dropping columns is at most a point behind the AND-mask where the tag is reversed or shuffled, on both boards.",
        source=f"{SOURCE}; a claim against us",
        measure=least(("screening",), ("AND-mask",), (*REVERSED, *SHUFFLED)),
        condition=low_at_least(
            -1.0, of="points of screening over the AND-mask in that one of the four cells whose mean is least,"
        ),
        kind="ours",
        tried=f"{CHANGED} {BY_SEED}",
    ),
)
