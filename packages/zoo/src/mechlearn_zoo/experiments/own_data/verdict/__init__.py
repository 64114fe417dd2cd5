"""What `craik fit agreement` says, checked on sites to come."""

from craik.experiments.own_data.verdict import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="own-data-verdict",
    title="Is a verdict drawn on eight sites true of twenty more? Nulls, tables with something to gain, and a tag that holds.",
    reproduces="ours; the verdicts of `craik fit agreement`",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
