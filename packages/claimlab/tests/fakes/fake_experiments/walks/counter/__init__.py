"""Counting: a walk that each seed starts elsewhere."""

from claimlab import Experiment
from fake_experiments.walks.counter import claims, figures, run

EXPERIMENT = Experiment(
    name="counter-walk",
    title="Counting: a walk that each seed starts elsewhere.",
    reproduces="Figure 0 of no thesis.",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
