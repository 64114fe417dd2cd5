"""Memorising random labels, and how the AND-mask hinders it (thesis section 3.3.2, figure 3.8)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.agreement.memorisation import figures, measures, run

EXPERIMENT = Experiment(
    name="memorisation",
    title="Memorising random labels: how the AND-mask hinders it, with every example an environment of its own.",
    reproduces="thesis section 3.3.2, figures 3.8 and B.7; paper section 3.2, figures 8 and 16",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
