"""Single examples as environments: what counting heads and clipping do against wrong labels."""

from craik.experiments.conflict.examples import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="conflict-examples",
    title="Single examples as environments: counting signs, a t-test and a robust mean on wrong and on random labels.",
    reproduces="ours; the boards of thesis section 3.3.2 on a small network",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
