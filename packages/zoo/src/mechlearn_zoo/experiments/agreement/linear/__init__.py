"""A patchwork in linear regression, and the solution that all environments share (the published code's notebook)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.agreement.linear import figures, measures, run

EXPERIMENT = Experiment(
    name="linear",
    title="Linear regression with one easy weight for each environment and one hard weight for all.",
    reproduces="the published code's notebook, linear_regression_ilc; an example of thesis section 3.2.3",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over(method=run.RULES, trained_on=run.SUBSETS, step=lambda config: range(config.steps + 1)),
)
