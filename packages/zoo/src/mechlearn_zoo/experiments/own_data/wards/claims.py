"""What is claimed of wards; written before any judged run."""

from claimlab import Claim, high_below, low_above, low_at_least
from mechlearn_zoo.experiments.own_data.measures import BY_SEED, POOLED, SOURCE, TWENTY, difference, least
from mechlearn_zoo.experiments.own_data.wards.run import CELLS

ALL = tuple(CELLS.values())
FEW = CELLS["8x53"]

CLAIMS = (
    Claim(
        id="own-data-wards.and-mask",
        text="With 8 clinics of 53 rows the AND-mask is below pooled training, though there is a shortcut.",
        source=f"{SOURCE}; a claim against us",
        measure=difference("AND-mask", FEW),
        condition=high_below(0.0, of="points over pooled, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-wards.never-worse",
        text="Gail-Simon's rule is not a point worse than pooled training.",
        source=SOURCE,
        measure=least(("conflict rule",), (POOLED,), ALL),
        condition=low_at_least(-1.0, of="points over pooled in the cell whose mean over seeds is worse,"),
        kind="ours",
        tried=f"{TWENTY} {BY_SEED}",
    ),
    Claim(
        id="own-data-wards.screening",
        text="Screening gains with 8 clinics of 53 rows.",
        source=SOURCE,
        measure=difference("screening", FEW),
        condition=low_above(0.0, of="points over pooled, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-wards.shortcut",
        text="There is something to gain: without the ward the pooled network is better at a new clinic.",
        source=SOURCE,
        measure=difference("oracle", FEW),
        condition=low_above(0.0, of="points of the oracle over pooled, mean over seeds,"),
        kind="control",
        tried=TWENTY,
    ),
)
