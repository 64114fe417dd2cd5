"""Empowerment on an open grid, in mazes, beside a box and with noisy sensors: all exact."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.control.empowerment_maze import figures, measures, run

EXPERIMENT = Experiment(
    name="empowerment-maze",
    title="Where an agent has influence: a maze, a box that can or cannot be pushed, sensors with noise.",
    reproduces="Klyubin, Polani and Nehaniv 2005, in the reading digest; worlds are ours",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
