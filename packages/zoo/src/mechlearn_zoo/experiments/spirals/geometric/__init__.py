"""The element-wise geometric mean of gradients as a learning rule, under Adam and under SGD (thesis section 3.2.3)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.spirals.geometric import figures, measures, run

EXPERIMENT = Experiment(
    name="spirals-geometric",
    title="The geometric mean of gradients beside the AND-mask: what Adam ignores of it, and what SGD does not.",
    reproduces="thesis section 3.2.3, limitation (iv) of the geometric mean, on the board of section 3.3.1",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("accuracy", optimizer="optimizers", method="methods"),
)
