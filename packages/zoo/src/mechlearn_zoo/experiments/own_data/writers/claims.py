"""What is claimed of writers; written before any judged run."""

from claimlab import Claim, at_least, high_below, low_above, low_at_least
from mechlearn_zoo.experiments.own_data.measures import POOLED, SOURCE, TWENTY, difference, least, share_of_gain
from mechlearn_zoo.experiments.own_data.writers.run import CELLS

CODES, NULL = CELLS["with codes"], CELLS["as they are"]

CLAIMS = (
    Claim(
        id="own-data-writers.codes",
        text="Where writers have codes of their own, the AND-mask is above pooled training at new writers.",
        source=SOURCE,
        measure=difference("AND-mask", CODES),
        condition=low_above(0.0, of="points over pooled, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-writers.codes-filter",
        text="There it is above the filter that drops whatever differs significantly, and above pooled training.",
        source=SOURCE,
        measure=least(("AND-mask",), ("Q filter", POOLED), (CODES,)),
        condition=low_above(0.0, of="points over the filter or over pooled, the lower of the two means over seeds,").instead_of(
            low_above(0.0, of="points over the filter, mean over seeds,"),
            "Doing nothing met it: the filter loses 13.9 points on pooled training there.",
            difference("AND-mask", CODES, "Q filter"),
        ),
        kind="ours",
        tried=f"{TWENTY} As the filter is below pooled training there, pooled training decides, and this is the number of "
        "own-data-writers.codes.",
    ),
    Claim(
        id="own-data-writers.codes-screening",
        text="Screening with an effect size is at least as good as the AND-mask there.",
        source=f"{SOURCE}; a claim against us",
        measure=difference("screening", CODES, "AND-mask"),
        condition=low_at_least(0.0, of="points of screening over the AND-mask, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-writers.null",
        text="Where nothing is planted the AND-mask is within two points of pooled training.",
        source=SOURCE,
        measure=difference("AND-mask", NULL),
        condition=low_at_least(-2.0, of="points over pooled, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-writers.never-worse",
        text="Gail-Simon's rule is not a point worse than pooled training there.",
        source=SOURCE,
        measure=difference("conflict rule", NULL),
        condition=low_at_least(-1.0, of="points over pooled, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-writers.screening",
        text="Nor is screening with an effect size.",
        source=SOURCE,
        measure=difference("screening", NULL),
        condition=low_at_least(-1.0, of="points over pooled, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-writers.significance",
        text="Significance alone loses on writers: real differences are everywhere.",
        source=SOURCE,
        measure=difference("Q filter", NULL),
        condition=high_below(-2.0, of="points over pooled, mean over seeds,"),
        kind="control",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-writers.gains",
        text="With codes Gail-Simon's rule has 80 % of the AND-mask's gain.",
        source=SOURCE,
        measure=share_of_gain("conflict rule", "AND-mask", 0.8, (CODES,)),
        condition=at_least(0.0, of="points over 80 % of the AND-mask's gain, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
)
