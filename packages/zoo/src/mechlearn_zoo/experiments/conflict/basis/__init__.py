"""In which basis do the environments disagree? Chosen for each layer by environments held out."""

from claimlab import Experiment
from mechlearn_zoo.experiments.conflict.basis import claims, figures, run

EXPERIMENT = Experiment(
    name="conflict-basis",
    title="Coordinates or directions: each layer's mask in the basis that environments held out agree on.",
    reproduces="ours; one rule for shortcuts in coordinates of their own and for rotated ones",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
