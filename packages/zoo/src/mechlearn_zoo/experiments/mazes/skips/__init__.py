"""A forward model that may skip frames, paid as curiosity in front of televisions."""

from claimlab import Experiment
from mechlearn_zoo.experiments.mazes.skips import claims, figures, run

EXPERIMENT = Experiment(
    name="curiosity-skips",
    title="A forward model that may skip frames, paid as curiosity: televisions whose pictures pass, and that stay.",
    reproduces="nothing: the noisy television of Burda et al. 2018 with the thesis's adaptive skips as a cure",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
