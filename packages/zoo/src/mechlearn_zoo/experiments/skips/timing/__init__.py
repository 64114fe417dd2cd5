"""What relative skips are worth where timing is random, and where it is not (ours, past thesis chapter 2)."""

from claimlab import Experiment
from mechlearn_zoo.experiments.skips.timing import claims, figures, run

EXPERIMENT = Experiment(
    name="skips-timing",
    title="Skips relative to distance, on states whose timing is random or regular: few steps, and sharp states.",
    reproduces="ours, past thesis chapter 2; its section 2.2 against fixed steps of up to 16 and direct prediction",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
