"""Single examples as environments: what counting heads and clipping do against wrong labels."""

from claimlab import Experiment
from mechlearn_zoo.experiments.conflict.examples import claims, figures, run

EXPERIMENT = Experiment(
    name="conflict-examples",
    title="Single examples as environments: counting signs, a t-test and a robust mean on wrong and on random labels.",
    reproduces="ours; the boards of thesis section 3.3.2 on a small network",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
