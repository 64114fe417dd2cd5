"""What is claimed of wards; written before any judged run."""

from claimlab import Claim, low_above
from mechlearn_zoo.experiments.own_data.measures import SOURCE, TWENTY, difference
from mechlearn_zoo.experiments.own_data.wards.run import CELLS

FEW = CELLS["8x53"]

CLAIMS = (
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
