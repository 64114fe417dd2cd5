"""What is claimed of writers; written before any judged run."""

from claimlab import Claim, high_below, low_at_least
from mechlearn_zoo.experiments.own_data.measures import SOURCE, TWENTY, difference
from mechlearn_zoo.experiments.own_data.writers.run import CELLS

CODES, NULL = CELLS["with codes"], CELLS["as they are"]

CLAIMS = (
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
        id="own-data-writers.significance",
        text="Significance alone loses on writers: real differences are everywhere.",
        source=SOURCE,
        measure=difference("Q filter", NULL),
        condition=high_below(-2.0, of="points over pooled, mean over seeds,"),
        kind="control",
        tried=TWENTY,
    ),
)
