"""Which scores find the columns that were planted."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.own_data.columns import figures, measures, run

EXPERIMENT = Experiment(
    name="own-data-columns",
    title="The audit on every board: which score finds the planted columns, and where it is blind.",
    reproduces="ours; the scores of disagreement",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
