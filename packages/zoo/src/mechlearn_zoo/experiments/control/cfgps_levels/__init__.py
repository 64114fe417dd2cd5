"""Counterfactual evaluation and policy search where a model's prior over levels is wrong."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.control.cfgps_levels import amortised, figures, measures, run

EXPERIMENT = Experiment(
    name="cfgps-levels",
    title="Levels behind a mask, a model whose prior over them is wrong: evaluating and searching counterfactually.",
    reproduces="Buesing et al. 2018, figures 2 and 3 in kind, by the reading digest; levels are ours",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    parts=(
        Experiment(
            name="cfgps-levels",
            title="Counterfactual evaluation with a learned posterior: the level is visible in training, a history alone "
            "afterwards.",
            reproduces="Buesing et al. 2018 by the reading digest: 'learn a model predicting what state it started with'",
            presets=amortised.PRESETS,
            run=amortised.run,
            claims=claims_of(measures, "amortised.toml"),
            figures=figures.posteriors,
        ),
    ),
)
