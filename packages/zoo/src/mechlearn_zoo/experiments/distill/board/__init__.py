"""The systems against each other and joined, on the Funnel board (thesis chapter 5, limitations)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.distill.board import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-board",
    title="Where the ball lands: ASI against LDT on the Funnel board, the two joined, and ASI under the AND-mask.",
    reproduces="thesis chapter 5, limitations: LDT can bypass ASI's; the thesis has no experiment that joins its systems",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("accuracy", method="methods"),
)
