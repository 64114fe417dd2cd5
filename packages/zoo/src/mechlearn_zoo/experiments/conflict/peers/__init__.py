"""Rules that test for conflict beside what others do with environments."""

from craik.experiments.conflict.peers import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="conflict-peers",
    title="Digits with a code of the site's own: tests for conflict beside masks, penalties, reweighting and screening.",
    reproduces="ours; other people's methods on the board of conflict-codes",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
