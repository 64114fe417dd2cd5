"""Temporal convolutions with one set of weights for all levels, and the theorem that they hold truncated recurrent networks."""

from claimlab import Experiment
from mechlearn_zoo.experiments.language.trellis import claims, figures, run

EXPERIMENT = Experiment(
    name="trellis",
    title="Trellis networks: theorem 1 in numbers, permuted digits and code beside an LSTM and untied weights.",
    reproduces="Bai et al. 2019, theorem 1 and permuted images at a small size",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
