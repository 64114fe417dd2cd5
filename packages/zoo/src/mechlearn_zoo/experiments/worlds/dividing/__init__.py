"""Plans through mazes by sub-goals in any order, beside sequential tree search with the same questions."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.worlds.dividing import figures, measures, run, settings

EXPERIMENT = Experiment(
    name="divide-and-conquer",
    title="Mazes solved by dividing problems in any order, and forward only, with equally many questions.",
    reproduces="Parascandolo, Buesing et al. 2020, the grid-world experiment, at a small size",
    presets=settings.PRESETS,
    run=run.run,
    progress=run.progress,
    claims=claims_of(measures),
    figures=figures.figures,
)
