"""A random search of the AND-mask's settings on the spirals, selected on held-out environments (thesis appendix B.2)."""

from claimlab import Experiment
from mechlearn_zoo.experiments.spirals.search import claims, figures, run

EXPERIMENT = Experiment(
    name="spirals-search",
    title="A random search of the AND-mask's settings on the spirals, selected on held-out environments.",
    reproduces="thesis appendix B.2, table B.1; paper table 1",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
