"""Social dilemmas: agents that talk are paid for influence, where all eat less if each eats what it can."""

from claimlab import Experiment
from mechlearn_zoo.experiments.worlds.social_dilemmas import claims, figures, run, settings

EXPERIMENT = Experiment(
    name="social-dilemmas",
    title="Harvest and Cleanup: do agents with a channel eat more together if messages are paid for influence?",
    reproduces="Jaques et al. 2019: influential communication in two social dilemmas, at a small scale",
    presets=settings.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
