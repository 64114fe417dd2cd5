"""Where a square is, told by convolutions that see coordinates and by convolutions that do not."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.vision.coordinates import figures, measures, run

EXPERIMENT = Experiment(
    name="coordinates",
    title="Positions to pixels and back, with coordinates and without: what convolutions cannot learn about places.",
    reproduces="Liu et al. 2018 (CoordConv), sections 4 and 5, on a smaller canvas",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
