"""A teacher undoes signs that no student can predict (thesis section 4.4.1, task A)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.distill.xor import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-xor",
    title="A teacher undoes signs that no student can predict: task A over dimensions and numbers of examples.",
    reproduces="thesis section 4.4.1 (task A), figure 4.3b; paper section 4.1, figure 3b",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("selection", inputs="inputs", examples="examples", method="methods"),
)
