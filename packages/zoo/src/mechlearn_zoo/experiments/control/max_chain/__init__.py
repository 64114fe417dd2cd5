"""Exploring a chain with a noisy trap: planning on disagreement against bonuses and bootstrapped heads."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.control.max_chain import figures, measures, run

EXPERIMENT = Experiment(
    name="max-chain",
    title="Episodes until every transition of a chain was seen, and who sits in the noisy trap.",
    reproduces="Shyam et al. 2019, the chain of section 4.1, by the reading digest",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
