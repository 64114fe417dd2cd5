"""Clinics that differ in base rate and calibration only."""

from claimlab import Experiment
from mechlearn_zoo.experiments.own_data.calibration import claims, figures, run

EXPERIMENT = Experiment(
    name="own-data-calibration",
    title="Clinics that differ in base rate and calibration only: no column changes its meaning.",
    reproduces="ours; real differences that agreement cannot use",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
