"""The Game of Life from few boards (thesis section 4.4.2)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.distill.life import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-life",
    title="The Game of Life from few boards: which frame of a scrambled trajectory helps which layer of a network.",
    reproduces="thesis section 4.4.2, appendix C.3, figure 4.6; paper section 4.2, appendix C, figure 4",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("selection", examples="examples", method="methods", trial=lambda config: range(config.trials)),
)
