"""Two methods on a hill whose top is known."""

from claimlab import Experiment
from fake_sweeps.hills.climb import run

EXPERIMENT = Experiment(
    name="climb",
    title="Two methods on a hill whose top is known.",
    reproduces="nothing",
    presets=run.PRESETS,
    run=run.run,
    ranges=run.RANGES,
)
