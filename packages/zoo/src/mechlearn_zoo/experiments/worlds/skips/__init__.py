"""A world model that predicts some coming latent, beside ones that predict the first, second or third."""

from claimlab import Experiment
from mechlearn_zoo.experiments.worlds.skips import claims, figures, run, settings

EXPERIMENT = Experiment(
    name="worlds-skips",
    title="Dreams of a falling ball: a world model with adaptive skips beside world models with fixed steps.",
    reproduces="the outlook of thesis chapter 2: skips of a stochastic model in latent space",
    presets=settings.PRESETS,
    run=run.run,
    progress=run.progress,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
