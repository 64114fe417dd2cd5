"""How fast the AND-mask silences pure noise (thesis section 3.2.3)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.agreement.random_gradients import figures, measures, run

EXPERIMENT = Experiment(
    name="random-gradients",
    title="How fast the AND-mask silences pure noise: the squared norm of averaged and masked random gradients.",
    reproduces="thesis section 3.2.3, figure 3.4, proposition 2; paper section 2.3, figure 4",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over(d="counts"),
)
