"""What distilled trajectories live on (thesis section 4.4.4)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.distill.ablations import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-ablations",
    title="What distilled trajectories live on: each part of LDT taken away, and other uses of the same privileged data.",
    reproduces="thesis section 4.4.4, figure 4.9; paper section 4.4, figure 7, and figure 8 a body a run",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
