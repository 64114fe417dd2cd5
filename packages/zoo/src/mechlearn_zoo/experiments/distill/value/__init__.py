"""Values from noisy returns, with the trajectory as privileged data (thesis section 4.4.1, motivation of task B)."""

from claimlab import Experiment
from mechlearn_zoo.experiments.distill.value import claims, figures, run

EXPERIMENT = Experiment(
    name="distill-value",
    title="Values learnt from noisy returns: does a teacher that sees the trajectory explain luck away?",
    reproduces="thesis section 4.4.1, what motivates task B: value functions from Monte-Carlo returns",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
