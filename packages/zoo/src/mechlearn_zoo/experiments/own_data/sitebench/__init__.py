"""SiteBench: what `mechlearn fit sites` says of thirty natural tables and ten planted ones, checked at further sites."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.own_data.sitebench import figures, measures, run

EXPERIMENT = Experiment(
    name="sitebench",
    title="Thirty natural tables of several sites: the gap, the room, the next site's interval, and what labels are worth.",
    reproduces="ours; the report of `mechlearn fit sites`",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
