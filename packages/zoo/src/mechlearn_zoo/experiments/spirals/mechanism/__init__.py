"""AND-mask finds the mechanism that averaging misses: two spirals behind easy shortcuts (thesis section 3.3.1)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.spirals.mechanism import figures, measures, run

EXPERIMENT = Experiment(
    name="spirals",
    title="AND-mask finds the mechanism that averaging misses: two spirals behind easy shortcuts.",
    reproduces="thesis section 3.3.1, figures 3.6, B.4 and B.5; paper section 3.1, figures 6 and 14",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    ranges=run.RANGES,
)
