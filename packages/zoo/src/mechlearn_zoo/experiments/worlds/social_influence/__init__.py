"""Causal influence: measured where it is known, and paid where it should help."""

from claimlab import Experiment
from mechlearn_zoo.experiments.worlds.social_influence import claims, figures, run

EXPERIMENT = Experiment(
    name="social-influence",
    title="Influence of one agent on another: recovered from play with a known coupling, and as a reward in a signalling game.",
    reproduces="Jaques et al. 2019, sections 3 and 4, in the smallest games",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
