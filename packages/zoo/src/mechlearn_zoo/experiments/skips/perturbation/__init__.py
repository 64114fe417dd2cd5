"""A change of physics in the middle of training: from funnels without bounce to the standard ones (thesis figure 2.11)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.skips.perturbation import figures, measures, run

EXPERIMENT = Experiment(
    name="skips-perturbation",
    title="What happens when the physics changes in the middle of training: from funnels without bounce to the standard ones.",
    reproduces="thesis section 2.3.3, figure 2.11",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
