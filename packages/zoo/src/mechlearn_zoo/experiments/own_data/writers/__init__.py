"""Digits by thirteen writers, as they are and with a code of each writer's own."""

from claimlab import Experiment
from mechlearn_zoo.experiments.own_data.writers import claims, figures, run

EXPERIMENT = Experiment(
    name="own-data-writers",
    title="Digits by writer: real sites as they are, and with a code of each writer's own.",
    reproduces="ours; a natural null, and a shortcut planted in real sites",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
