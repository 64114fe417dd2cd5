"""Digits at sites that write the label as a code of their own."""

from claimlab import Experiment
from mechlearn_zoo.experiments.own_data.codes import claims, figures, run

EXPERIMENT = Experiment(
    name="own-data-codes",
    title="Noisy digits with a site's own code: sites by rows, every way to train, a site that nobody has seen.",
    reproduces="ours; a shortcut in coordinates of its own",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
