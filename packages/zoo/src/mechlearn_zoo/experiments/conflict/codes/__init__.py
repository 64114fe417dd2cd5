"""What tests for conflict gain where sites write the label in codes of their own."""

from claimlab import Experiment
from mechlearn_zoo.experiments.conflict.codes import claims, figures, run

EXPERIMENT = Experiment(
    name="conflict-codes",
    title="Digits with a code of the site's own: sites by rows, which rule gains where.",
    reproduces="ours; a shortcut in coordinates of its own",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
