"""Two agents who can only reach their goals by telling each other, and the symbols they invent for it."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.worlds.particle_language import figures, measures, run, settings

EXPERIMENT = Experiment(
    name="particle-language",
    title="Symbols invented in a differentiable world: whether they are needed, and what they mean in bits.",
    reproduces="Mordatch and Abbeel 2018, sections 3 to 6, with two agents and goals by colour",
    presets=settings.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
