"""Values from roll-outs that skip: cumulants over each skip (thesis section 2.1, equation 2.3)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.skips.values import figures, run

EXPERIMENT = Experiment(
    name="skips-values",
    title="The value of a ball's start, by roll-outs that skip, by fixed steps, and regressed without a model.",
    reproduces="thesis section 2.1.1 and equation 2.3: cumulants over a skip, from classification to value prediction",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(run),
    figures=figures.figures,
    progress=progress_over("error", method="methods"),
)
