"""A teacher sees through label noise (thesis section 4.4.1, task B)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.distill.noisy_labels import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-noisy-labels",
    title="A teacher sees through label noise: task B, where labels are drawn at random and the privileged data know the odds.",
    reproduces="thesis section 4.4.1 (task B), figure 4.4b, table C.1; paper section 4.1, figure 3d",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
