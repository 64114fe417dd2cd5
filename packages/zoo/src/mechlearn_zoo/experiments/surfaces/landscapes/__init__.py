"""Two loss surfaces, their mean, and where descent ends (thesis section 3.1, figure 3.1)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.surfaces.landscapes import figures, measures, run

EXPERIMENT = Experiment(
    name="landscapes",
    title="Two loss surfaces and their mean: a minimum that exists in neither, and gradients that tell.",
    reproduces="thesis section 3.1, figures 3.1 and B.2; paper section 1, figure 1",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
