"""Arithmetic against geometric mean of two Hessians (thesis section 3.2.2, figure 3.3, proposition 3)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.surfaces.hessians import figures, measures, run

EXPERIMENT = Experiment(
    name="hessians",
    title="Hessians that disagree: arithmetic against geometric mean, printed volumes, and proposition 3's bound.",
    reproduces="thesis section 3.2.2, figures 3.3 and B.3, proposition 3; paper section 2.2, figures 3 and 12",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
