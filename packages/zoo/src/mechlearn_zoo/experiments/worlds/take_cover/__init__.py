"""World Models on Take Cover: a controller that is evolved in a dream, tested in the world."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.worlds.take_cover import figures, measures, run, settings

EXPERIMENT = Experiment(
    name="take-cover",
    title="Controllers evolved inside a learnt model's dream, and in the world with and without its memory.",
    reproduces="Ha and Schmidhuber 2018, tables 1 and 2",
    presets=settings.PRESETS,
    run=run.run,
    progress=run.progress,
    claims=claims_of(measures),
    figures=figures.figures,
)
