"""Causal influence: measured where it is known, and paid where it should help."""

from craik.experiments.worlds.social_influence import claims, figures, run
from craik.lab import Experiment

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
