"""Whether watching gradients by source finds the bad one of eight, and what acting on it is worth."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.agreement.cockpit_sources import figures, measures, run

EXPERIMENT = Experiment(
    name="cockpit-sources",
    title="Eight sources of which one is bad: whether the watch on gradients finds it, and what acting is worth.",
    reproduces="ours; `mechlearn.integrations.SourceWatch`",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
