"""What a gradient on the spirals is made of (thesis figure 3.7)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.spirals.gradient_correlation import figures, measures, run

EXPERIMENT = Experiment(
    name="gradient-correlation",
    title="What a gradient is made of: its correlation with the mechanism's and the shortcuts' share, by threshold.",
    reproduces="thesis section 3.3.1 and appendix B.2.3.5, figure 3.7; paper section 3.1, figure 7",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
