"""Cloning an expert over levels, by rules that test whether levels differ."""

from claimlab import Experiment
from mechlearn_zoo.experiments.agreement.cloning import claims, figures, run

EXPERIMENT = Experiment(
    name="cloning-conflict",
    title="Cloning over levels by rules that test for conflict: sixteen levels a step, divergence on levels never seen.",
    reproduces="ours; beside thesis section 3.3.3, with levels as the environments of one step",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
