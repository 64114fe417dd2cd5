"""Clinics that fill their wards each in its own way."""

from claimlab import Experiment
from mechlearn_zoo.experiments.own_data.wards import claims, figures, run

EXPERIMENT = Experiment(
    name="own-data-wards",
    title="Local ward codes at clinics: a shortcut of eight columns, few rows.",
    reproduces="ours; a shortcut of many values with few rows",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
