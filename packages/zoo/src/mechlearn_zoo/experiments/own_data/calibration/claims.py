"""What is claimed of clinics that differ in base rate and calibration; written before any judged run."""

from claimlab import Claim, low_at_least
from mechlearn_zoo.experiments.own_data.calibration.run import CELLS
from mechlearn_zoo.experiments.own_data.comparing import TAUGHT
from mechlearn_zoo.experiments.own_data.measures import POOLED, SOURCE, TWENTY, difference, least

CELL = CELLS["8x40"]

CLAIMS = (
    Claim(
        id="own-data-calibration.null",
        text="The AND-mask is within two points of pooled training: sites differ, and nothing that it looks for does.",
        source=SOURCE,
        measure=difference("AND-mask", CELL),
        condition=low_at_least(-2.0, of="points over pooled, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-calibration.never-worse",
        text="Gail-Simon's rule is not a point worse than pooled training.",
        source=SOURCE,
        measure=difference("conflict rule", CELL),
        condition=low_at_least(-1.0, of="points over pooled, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-calibration.nothing",
        text="Every way to train is established to be at most a point above pooled training: recalibrate instead.",
        source=f"{SOURCE}; a claim against us",
        measure=least((POOLED,), TAUGHT, (CELL,)),
        condition=low_at_least(-1.0, of="points of pooled over the way whose mean over seeds is best,"),
        kind="ours",
        tried=TWENTY,
    ),
)
