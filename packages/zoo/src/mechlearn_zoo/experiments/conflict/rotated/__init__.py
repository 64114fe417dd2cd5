"""Shortcuts without coordinates of their own."""

from craik.experiments.conflict.rotated import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="conflict-rotated",
    title="Rotated shortcuts: where masks of single weights fail, and a mask of directions.",
    reproduces="ours; the limit of every mask of components",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
