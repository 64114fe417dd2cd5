"""The temporal AND-mask on exact policy gradients, a level a step."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.mazes.temporal import figures, measures, run

EXPERIMENT = Experiment(
    name="temporal-levels",
    title="Exact policy gradients, one level after the other: does agreement over time keep what goes to unseen levels?",
    reproduces="nothing: the thesis's temporal AND-mask Adam (appendix B.2.6) where gradients have no sampling noise",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over(arm="arms", step=lambda config: range(1, config.steps + 1)),
)
