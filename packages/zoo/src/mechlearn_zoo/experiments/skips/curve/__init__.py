"""How long a step should be, by state (thesis figure 2.1)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.skips.curve import figures, measures, run

EXPERIMENT = Experiment(
    name="skips-curve",
    title="How long a step should be: the error that accumulates until a fixed time, against the length of a step, by state.",
    reproduces="thesis figure 2.1, a hypothesis there, and section 2.3.1",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over(skip="skips"),
)
