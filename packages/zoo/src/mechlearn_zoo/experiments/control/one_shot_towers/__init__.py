"""Building towers that one demonstration shows: attention against a flat network, with less and less of the demonstration."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.control.one_shot_towers import figures, measures, run

EXPERIMENT = Experiment(
    name="one-shot-towers",
    title="Towers from one demonstration: tasks never trained on, the last frame alone, no demonstration, more blocks.",
    reproduces="Duan et al. 2017, block stacking without the arm, by the reading digest",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
