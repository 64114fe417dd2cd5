"""What an abstract state looks like that a model predicts: two rooms in two numbers."""

from claimlab import Experiment
from mechlearn_zoo.experiments.control.crar_rooms import claims, figures, run

EXPERIMENT = Experiment(
    name="crar-rooms",
    title="Two rooms in two numbers: with and without what keeps states apart, and an encoder that only Q trains.",
    reproduces="Francois-Lavet et al. 2019, the labyrinth of their figure 2, by the reading digest",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
