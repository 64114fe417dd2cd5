"""Which attacks transfer between models, what predicts it, and what surrogates agree on."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.robustness.transfer import figures, measures, run

EXPERIMENT = Experiment(
    name="transfer",
    title="Evasion made on stand-ins: alignment, complexity, and what surrogates agree on.",
    reproduces="Demontis et al. 2019, evasion (section 4.1); surrogates as environments are ours",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
