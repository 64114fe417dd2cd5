"""Whether entropy helps an exact gradient past a near reward, and what the objective looks like there."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.control.entropy_landscape import figures, measures, run

EXPERIMENT = Experiment(
    name="entropy-landscape",
    title="Exact gradient ascent past a small reward near by: traps, step sizes and paths, by how much entropy is worth.",
    reproduces="Ahmed et al. 2019, sections 3 and 4, in the reading digest; grid and settings ours",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
