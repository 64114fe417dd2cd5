"""What a model with adaptive skip intervals predicts and what it skips (thesis figures 2.7 and 2.8)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.skips.timeline import figures, measures, run

EXPERIMENT = Experiment(
    name="skips-timeline",
    title="What a model with adaptive skip intervals predicts and what it skips: "
    "its frames below the true ones they were matched with.",
    reproduces="thesis section 2.3.3, figures 2.7 and 2.8; the animation of the released code",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
