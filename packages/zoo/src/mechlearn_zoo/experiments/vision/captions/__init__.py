"""Captions and pictures: which fits which, and where each word looks."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.vision.captions import figures, measures, run, settings

EXPERIMENT = Experiment(
    name="captions",
    title="Captions matched with pictures word by region, and pictures made of captions.",
    reproduces="Xu et al. 2018, at a small size",
    presets=settings.PRESETS,
    run=run.run,
    progress=run.progress,
    claims=claims_of(measures),
    figures=figures.figures,
)
