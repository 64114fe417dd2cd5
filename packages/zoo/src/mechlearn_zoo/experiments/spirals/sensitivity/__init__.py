"""What the AND-mask's success on the spirals hangs on: one setting changed at a time (thesis appendix B.2)."""

from claimlab import Experiment
from mechlearn_zoo.experiments.spirals.sensitivity import claims, figures, run

EXPERIMENT = Experiment(
    name="spirals-sensitivity",
    title="What the AND-mask's success on the spirals hangs on: one setting changed at a time.",
    reproduces="thesis appendix B.2: which of the choices left open matter",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
