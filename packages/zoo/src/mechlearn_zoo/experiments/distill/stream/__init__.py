"""Streams of sub-tasks in which a teacher must stay useful (thesis chapter 5, outlook)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.distill.stream import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-stream",
    title="A stream of sub-tasks or one for good: what is left for a teacher to learn, and what it is worth afterwards.",
    reproduces="thesis chapter 5, outlook: once sub-tasks are solved there is no learning signal left; proposed only",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("gain", domain="domains", stage=lambda config: range(config.stages + 1)),
)
