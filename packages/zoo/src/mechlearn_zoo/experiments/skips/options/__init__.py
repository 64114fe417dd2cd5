"""One model of several options, whose skips end where options do, beside a model each (thesis section 2.5)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.skips.options import figures, measures, run

EXPERIMENT = Experiment(
    name="skips-options",
    title="A runner that is pushed about on ice: one model of all pushes or one each, and what is known of the coming pushes.",
    reproduces="thesis sections 2.1.1 and 2.5: options, policies and actions; no experiment there",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("accuracy", method="methods"),
)
