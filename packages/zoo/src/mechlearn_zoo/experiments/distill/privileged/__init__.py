"""A second loss that may hurt: mixed in, added by sign, and beside a fork."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.distill.privileged import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-privileged",
    title="A second loss that may hurt: a teacher with a privileged context or a second label, mixed in or added by sign.",
    reproduces="ours; privileged self-distillation past the thesis",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
