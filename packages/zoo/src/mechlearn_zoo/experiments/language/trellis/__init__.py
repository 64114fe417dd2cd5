"""Temporal convolutions with one set of weights for all levels, and the theorem that they hold truncated recurrent networks."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.language.trellis import figures, measures, run

EXPERIMENT = Experiment(
    name="trellis",
    title="Trellis networks: theorem 1 in numbers, permuted digits and code beside an LSTM and untied weights.",
    reproduces="Bai et al. 2019, theorem 1 and permuted images at a small size",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
