"""Exchangeable clinics and weak columns: nothing to gain."""

from claimlab import Experiment
from mechlearn_zoo.experiments.own_data.weak import claims, figures, run

EXPERIMENT = Experiment(
    name="own-data-weak",
    title="Weak columns of cells at exchangeable clinics: a null, by sites and rows.",
    reproduces="ours; a null on real columns",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
