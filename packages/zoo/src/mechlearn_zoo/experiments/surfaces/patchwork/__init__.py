"""Two sigmoids sewn together (thesis appendix B.1.1, figure B.1)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.surfaces.patchwork import figures, measures, run

EXPERIMENT = Experiment(
    name="patchwork",
    title="A patchwork: two sigmoids sewn together, one for each environment, and how easy the result is to vary.",
    reproduces="thesis appendix B.1.1, figure B.1; paper, the same appendix, figure 11",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
