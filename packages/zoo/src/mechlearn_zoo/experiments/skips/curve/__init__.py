"""How long a step should be, by state (thesis figure 2.1)."""

from craik.experiments.skips.curve import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="skips-curve",
    title="How long a step should be: the error that accumulates until a fixed time, against the length of a step, by state.",
    reproduces="thesis figure 2.1, a hypothesis there, and section 2.3.1",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
