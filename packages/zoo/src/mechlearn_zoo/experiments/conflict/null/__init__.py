"""What tests for conflict do where there is none."""

from claimlab import Experiment
from mechlearn_zoo.experiments.conflict.null import claims, figures, run

EXPERIMENT = Experiment(
    name="conflict-null",
    title="No conflict: what tests for it mask of noise, and what that costs.",
    reproduces="ours; the levels of the tests",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
