"""Which environments disagree about two trained networks, and in which parameters (definition 3.1 of the thesis)."""

from claimlab import Experiment
from mechlearn_zoo.experiments.spirals.audit import claims, figures, run

EXPERIMENT = Experiment(
    name="audit",
    title="Audit of two trained networks: which environments disagree about them, and in which parameters.",
    reproduces="definition (2) of the paper, (3.1) and (3.2) of the thesis, on the networks of figure 3.6",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
