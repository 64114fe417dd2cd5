"""Coloured digits: a shortcut that agrees in sign and differs in size."""

from claimlab import Experiment
from mechlearn_zoo.experiments.conflict.colours import claims, figures, run

EXPERIMENT = Experiment(
    name="conflict-colours",
    title="Coloured digits by rules that test for conflict: the colour agrees in sign and differs in strength.",
    reproduces="ours; on the board of `coloured-digits`",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
