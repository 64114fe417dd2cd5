"""Bonuses in MiniGrid's rooms, the simulator that others measure in."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.mazes.minigrid import figures, measures, run

EXPERIMENT = Experiment(
    name="minigrid-rooms",
    title="MiniGrid's rooms with a bonus alone: does reward come that nobody asked for? Needs the extra rl.",
    reproduces="Burda et al. 2018, section 3.1, on MiniGrid's MultiRoom",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over(method=run.METHODS, rollout=lambda config: range(config.rollouts)),
)
