"""Masked language models of code, and what few labels make of them."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.language.masked_lm import figures, measures, run

EXPERIMENT = Experiment(
    name="masked-lm",
    title="Roles of names in code from few labels: encoders pretrained from both sides, from the left, or not at all.",
    reproduces="Devlin et al. 2019, the ablation of directions, on code",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
