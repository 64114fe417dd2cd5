"""Slices of the loss around trained networks, and what their scale says and does not say."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.surfaces.slices import figures, measures, run

EXPERIMENT = Experiment(
    name="loss-surface",
    title="Slices of the loss around trained networks, and what of them is the scale of the weights.",
    reproduces="Li et al. 2018, figures 2, 3, 7 and 9, on scikit-learn's digits; an erratum to filter normalisation",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
