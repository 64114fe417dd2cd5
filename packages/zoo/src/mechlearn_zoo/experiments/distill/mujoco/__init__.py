"""A teacher reads future trajectories of simulated bodies (thesis section 4.4.3)."""

from craik.experiments.distill.mujoco import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="distill-mujoco",
    title="A teacher reads future trajectories of simulated bodies: returns of random actions, predicted by a plain network.",
    reproduces="thesis section 4.4.3, figures 4.7 and 4.8, tables C.2 to C.7; paper section 4.3, figures 5 and 6, table 7",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
