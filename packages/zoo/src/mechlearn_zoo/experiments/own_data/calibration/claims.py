"""What is claimed of clinics that differ in base rate and calibration; written before any judged run."""

from claimlab import Claim, low_at_least
from mechlearn_zoo.experiments.own_data.calibration.run import CELLS
from mechlearn_zoo.experiments.own_data.measures import SOURCE, TWENTY, difference

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
)
