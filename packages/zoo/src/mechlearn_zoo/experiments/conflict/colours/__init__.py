"""Coloured digits: a shortcut that agrees in sign and differs in size."""

from craik.experiments.conflict.colours import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="conflict-colours",
    title="Coloured digits by rules that test for conflict: the colour agrees in sign and differs in strength.",
    reproduces="ours; on the board of `coloured-digits`",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
