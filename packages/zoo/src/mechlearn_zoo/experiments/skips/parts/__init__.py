"""Two balls on one board, matched each at its own distances or as one frame (thesis chapter 5, limitations)."""

from typing import get_args

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.skips.parts import figures, run

EXPERIMENT = Experiment(
    name="skips-parts",
    title="Two balls on one board: each matched at its own distances, against whole frames.",
    reproduces="ours, after thesis chapter 5: skips lack several parallel processes",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(run),
    figures=figures.figures,
    progress=progress_over("accuracy", world=get_args(run.World), method="methods"),
)
