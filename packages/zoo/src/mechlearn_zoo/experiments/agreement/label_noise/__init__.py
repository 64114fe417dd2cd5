"""A quarter of the labels is wrong (thesis section 3.3.2, figure 3.9)."""

from claimlab import Experiment
from mechlearn_zoo.experiments.agreement.label_noise import claims, figures, run

EXPERIMENT = Experiment(
    name="label-noise",
    title="A quarter of the labels is wrong: averaging fits them in the end, the AND-mask leaves them.",
    reproduces="thesis section 3.3.2 and appendix B.2.5, figure 3.9; paper section 3.2, figure 9",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
    ranges=run.RANGES,
)
