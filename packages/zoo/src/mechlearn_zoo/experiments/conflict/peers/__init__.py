"""Rules that test for conflict beside what others do with environments."""

from claimlab import Experiment
from mechlearn_zoo.experiments.conflict.peers import claims, figures, run

EXPERIMENT = Experiment(
    name="conflict-peers",
    title="Digits with a code of the site's own: tests for conflict beside masks, penalties, reweighting and screening.",
    reproduces="ours; other people's methods on the board of conflict-codes",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
