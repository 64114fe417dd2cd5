"""What `craik fit skips` says, checked on trajectories to come."""

from craik.experiments.own_data.trajectories import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="own-data-trajectories",
    title="Do adaptive skips help on small trajectories, and is what `craik fit skips` says true of others to come?",
    reproduces="ours; the verdicts of `craik fit skips`",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
