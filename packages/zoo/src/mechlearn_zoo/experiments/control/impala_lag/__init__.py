"""Actors that are some updates behind the learner, and what corrects for it."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.control.impala_lag import figures, measures, run

EXPERIMENT = Experiment(
    name="impala-lag",
    title="Actors some updates behind the learner: no correction, one-step importance sampling, V-trace.",
    reproduces="IMPALA (Espeholt et al. 2018), table 2, on Catch",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
