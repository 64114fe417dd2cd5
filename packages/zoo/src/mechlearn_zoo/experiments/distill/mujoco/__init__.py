"""A teacher reads future trajectories of simulated bodies (thesis section 4.4.3)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.distill.mujoco import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-mujoco",
    title="A teacher reads future trajectories of simulated bodies: returns of random actions, predicted by a plain network.",
    reproduces="thesis section 4.4.3, figures 4.7 and 4.8, tables C.2 to C.7; paper section 4.3, figures 5 and 6, table 7",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
