"""What rules that test for conflict make of the spirals, with and without decay of what they mask."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.agreement.conflict_spirals import figures, measures, run

EXPERIMENT = Experiment(
    name="conflict-spirals",
    title="Spirals by rules that test for conflict: what is masked must also go.",
    reproduces="ours; the board of thesis section 3.3.1 at half its length and a quarter of its width",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
