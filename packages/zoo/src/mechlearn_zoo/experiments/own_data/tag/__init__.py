"""A column that goes with the label, turned round at some sites."""

from claimlab import Experiment
from mechlearn_zoo.experiments.own_data.tag import claims, figures, run

EXPERIMENT = Experiment(
    name="own-data-tag",
    title="A tag that most sites share: reversed, shuffled and as before at a new site.",
    reproduces="ours; what agreement costs where the shortcut holds",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
