"""The linear unit tests, by rules of signs and rules of sizes."""

from claimlab import Experiment
from mechlearn_zoo.experiments.conflict.units import claims, figures, run

EXPERIMENT = Experiment(
    name="conflict-units",
    title="Linear unit tests: one rule for cows and margins, and what it needs.",
    reproduces="ours; the problems of arXiv:2102.10867, examples 1 to 3",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
