"""A maze with a television: which bonus explores it, and which one watches."""

from claimlab import Experiment
from mechlearn_zoo.experiments.mazes.television import claims, figures, run

EXPERIMENT = Experiment(
    name="curiosity-tv",
    title="A maze with a television: curiosity, reachability and counts, with the set on and off.",
    reproduces="Burda et al. 2018, section 4.2, and Savinov et al. 2019, section 4, on a maze of textures",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
