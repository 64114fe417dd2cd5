"""Generators compared as curves over temperatures, not as points."""

from claimlab import Experiment
from mechlearn_zoo.experiments.language.temperature_sweep import claims, figures, run

EXPERIMENT = Experiment(
    name="temperature-sweep",
    title="Quality against diversity over temperatures: maximum likelihood and SeqGAN.",
    reproduces="Caccia et al. 2020, figure 2, at a small size",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
