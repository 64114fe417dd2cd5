"""How many environments it takes to find the spirals (thesis appendix B.2.4)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.spirals.environments import figures, measures, run

EXPERIMENT = Experiment(
    name="spiral-environments",
    title="How many environments it takes: averaging needs a thousand before it finds the spirals, the AND-mask far fewer.",
    reproduces="thesis appendix B.2.4, figure B.6; paper, the same appendix, figure 15",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
