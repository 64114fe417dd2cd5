"""What `mechlearn fit agreement` says, checked on sites to come."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.own_data.verdict import figures, measures, run

EXPERIMENT = Experiment(
    name="own-data-verdict",
    title="Is a verdict drawn on eight sites true of twenty more? Nulls, tables with something to gain, and a tag that holds.",
    reproduces="ours; the verdicts of `mechlearn fit agreement`",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
