"""Other matchings, other losses, a memory and a learnt reader beside ASI on the Funnel board (thesis sections 2.1 to 2.5)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.skips.matchings import figures, measures, run

EXPERIMENT = Experiment(
    name="skips-matchings",
    title="What predictions are matched with, how they are compared, remembered and read: choices that the thesis leaves.",
    reproduces="thesis sections 2.1.1, 2.1.2, 2.2, 2.4 and 2.5, which propose these choices; no experiment there",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("accuracy", method="methods"),
)
