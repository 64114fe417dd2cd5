"""Planning in an abstract state, in mazes that were never seen."""

from claimlab import Experiment
from mechlearn_zoo.experiments.mazes.crar import claims, figures, run

EXPERIMENT = Experiment(
    name="crar-mazes",
    title="Keys in mazes that were never seen: planning depth in an abstract state learned from random steps elsewhere.",
    reproduces="Francois-Lavet et al. 2019, section 4.2, by the reading digest",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
