"""Behavioural cloning over levels with the temporal AND-mask (thesis section 3.3.3)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.agreement.coinrun import figures, measures, ranges, run

EXPERIMENT = Experiment(
    name="coinrun",
    title="Behavioural cloning over levels: Adam with the temporal AND-mask beside Adam, both searched on equal budgets.",
    reproduces="thesis section 3.3.3, figures 3.11 and 3.12, algorithm and table of appendix B.2.6; "
    "paper section 3.3, figure 18",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    ranges=ranges.RANGES,
)
