"""A meta-learned teacher beside plain future prediction, generalised distillation and others, at equal computation."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.distill.equal import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-equal",
    title="LDT beside future prediction, generalised distillation, hindsight modelling and contrast, at equal computation.",
    reproduces="thesis sections 4.2 and 4.4.3 (baselines that were named and not considered)",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("selection", task="tasks", method="methods", trial=lambda config: range(config.trials)),
)
