"""What `mechlearn fit skips` says, checked on trajectories to come."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.own_data.trajectories import figures, measures, run

EXPERIMENT = Experiment(
    name="own-data-trajectories",
    title="Do adaptive skips help on small trajectories, and is what `mechlearn fit skips` says true of others to come?",
    reproduces="ours; the verdicts of `mechlearn fit skips`",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
