"""A teacher of many students serves those it has not met (thesis chapter 5, outlook)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.distill.population import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-population",
    title="A teacher of many students serves those it has not met: task A, teachers trained by one student and by several.",
    reproduces="thesis chapter 5, outlook (population-based training of teachers); no figure is printed",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("selection", method="methods", student=lambda config: range(config.fresh + len(config.widths))),
)
