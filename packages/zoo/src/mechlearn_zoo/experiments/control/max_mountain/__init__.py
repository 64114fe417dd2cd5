"""Exploring a Gymnasium task without reward: planning on the disagreement of networks, a reactive bonus, chance, a placebo."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.control.max_mountain import figures, measures, run

EXPERIMENT = Experiment(
    name="max-mountain",
    title="Share of positions and velocities that five explorers visit in MountainCarContinuous.",
    reproduces="Shyam et al. 2019, sections 3 and 4.2, on a task that a CPU can afford",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
