"""How much harm a few training points with wrong labels can do, and to which learners."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.robustness.poisoning import figures, measures, run

EXPERIMENT = Experiment(
    name="poisoning",
    title="Poison by implicit gradients: three linear learners, weakly and strongly regularised, and stand-ins of them.",
    reproduces="Demontis et al. 2019, poisoning (section 4.2)",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
