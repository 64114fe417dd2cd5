"""Columns known in training only, on tables."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.own_data.privileged import figures, measures, run

EXPERIMENT = Experiment(
    name="own-data-privileged",
    title="Columns known in training only: a vote over closed-form teachers against ridge and against itself without them.",
    reproduces="ours; privileged columns on small tables",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
