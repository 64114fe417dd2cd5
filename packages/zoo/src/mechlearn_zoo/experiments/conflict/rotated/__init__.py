"""Shortcuts without coordinates of their own."""

from claimlab import Experiment
from mechlearn_zoo.experiments.conflict.rotated import claims, figures, run

EXPERIMENT = Experiment(
    name="conflict-rotated",
    title="Rotated shortcuts: where masks of single weights fail, and a mask of directions.",
    reproduces="ours; the limit of every mask of components",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
