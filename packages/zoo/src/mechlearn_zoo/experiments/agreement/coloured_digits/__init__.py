"""A benchmark of domain generalisation, on which the AND-mask has no advantage."""

from claimlab import Experiment
from mechlearn_zoo.experiments.agreement.coloured_digits import claims, figures, run

EXPERIMENT = Experiment(
    name="coloured-digits",
    title="Coloured digits: eight ways to train on two environments, three ways to choose their settings, one budget.",
    reproduces="a benchmark of domain generalisation beside thesis section 3.3: ColoredMNIST's construction on real digits",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
    ranges=run.RANGES,
)
