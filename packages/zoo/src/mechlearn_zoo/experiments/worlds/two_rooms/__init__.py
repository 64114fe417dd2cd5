"""Abstract states of two rooms, and plans through them."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.worlds.two_rooms import figures, measures, run, settings

EXPERIMENT = Experiment(
    name="two-rooms",
    title="Abstract states that respect a wall: Causal InfoGAN beside k-means and a contrastive method.",
    reproduces="Kurutach et al. 2018, figures 3 and 4, at a small size",
    presets=settings.PRESETS,
    run=run.run,
    progress=progress_over(method=run.make),
    claims=claims_of(measures),
    figures=figures.figures,
)
