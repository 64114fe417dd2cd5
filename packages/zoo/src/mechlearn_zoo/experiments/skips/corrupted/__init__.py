"""What corrupted episodes cost models that may skip, and models that may not (thesis chapter 2, introduction)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.skips.corrupted import figures, measures, run

EXPERIMENT = Experiment(
    name="skips-corrupted",
    title="Training on episodes with missing frames, with frames of noise, or at other paces: ASI against fixed steps.",
    reproduces="thesis chapter 2, introduction: robustness to corrupted trajectories and to shifts in speed",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("accuracy", corruption=[each.name for each in run.ALL], method="methods"),
)
