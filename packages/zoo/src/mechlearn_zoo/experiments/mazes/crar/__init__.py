"""Planning in an abstract state, in mazes that were never seen."""

from craik.experiments.mazes.crar import claims, figures, run
from craik.lab import Experiment

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
