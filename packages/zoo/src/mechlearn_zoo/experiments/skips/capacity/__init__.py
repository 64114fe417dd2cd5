"""Capacity and data that a model needs with skips and without (thesis figure 2.3, caption)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.skips.capacity import figures, measures, run

EXPERIMENT = Experiment(
    name="skips-capacity",
    title="How large a network and how many episodes the Funnel board takes, with skips and without.",
    reproduces="thesis figure 2.3, caption: skips reduce the required capacity and thus the data; no experiment there",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("accuracy", episodes="episodes", hidden="hidden", method="methods"),
)
