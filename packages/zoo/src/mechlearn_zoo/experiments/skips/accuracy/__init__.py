"""Adaptive skip intervals against fixed steps: how often a roll-out shows the right outcome (thesis figures 2.9 and 2.10)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.skips.accuracy import figures, measures, run

EXPERIMENT = Experiment(
    name="skips-accuracy",
    title="Adaptive skip intervals learn the outcome of a world sooner than models that predict every frame, or every second.",
    reproduces="thesis section 2.3.3, figures 2.9 and 2.10, tables A.1 and A.2",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    ranges=run.RANGES,
)
