"""What tests for conflict do where there is none."""

from craik.experiments.conflict.null import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="conflict-null",
    title="No conflict: what tests for it mask of noise, and what that costs.",
    reproduces="ours; the levels of the tests",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
