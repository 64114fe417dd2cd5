"""One network on tasks whose rewards differ by orders of magnitude, and what keeps the largest from ruling."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.control.popart_tasks import figures, measures, run

EXPERIMENT = Experiment(
    name="popart-tasks",
    title="Eight tasks with rewards from 0.1 to 1000 on one network: nothing, clipping, PopArt, the AND-mask over tasks.",
    reproduces="PopArt (Hessel et al. 2018), figures 1 and 2, on Catch",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
