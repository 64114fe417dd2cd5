"""How fast the AND-mask silences pure noise (thesis section 3.2.3)."""

from craik.experiments.agreement.random_gradients import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="random-gradients",
    title="How fast the AND-mask silences pure noise: the squared norm of averaged and masked random gradients.",
    reproduces="thesis section 3.2.3, figure 3.4, proposition 2; paper section 2.3, figure 4",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
