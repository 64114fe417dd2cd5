"""Counterfactual evaluation with a posterior that a network learned from privileged levels."""

from claimlab import Experiment
from mechlearn_zoo.experiments.control.cfgps_amortised import claims, figures, run

EXPERIMENT = Experiment(
    name="cfgps-amortised",
    title="Counterfactual evaluation with a learned posterior: the level is visible in training, a history alone afterwards.",
    reproduces="Buesing et al. 2018 by the reading digest: 'learn a model predicting what state it started with'",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
