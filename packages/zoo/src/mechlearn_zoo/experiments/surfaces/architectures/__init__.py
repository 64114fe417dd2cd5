"""What changes invariant learning consistency: the algorithm, the hypothesis class, the start (paper, equations 3 and 4)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.surfaces.architectures import figures, measures, run

EXPERIMENT = Experiment(
    name="ilc-architectures",
    title="ILC of nine learners on one board: perceptron, convolution, pre-trained start; averaging, AND-mask, geometric mean.",
    reproduces="paper equations (3) and (4); thesis sections 3.1 and 3.2: what ILC can be improved by",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("walked", start="starts", method="methods"),
)
