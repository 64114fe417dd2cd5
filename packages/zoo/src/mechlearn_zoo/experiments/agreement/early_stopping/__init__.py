"""Wrong labels by share and by number of images, with early stopping for all (ours; issue 'Does it help anyone?')."""

from claimlab import Experiment
from mechlearn_zoo.experiments.agreement.early_stopping import claims, figures, run

EXPERIMENT = Experiment(
    name="early-stopping",
    title="Wrong labels by share and number of images: does the AND-mask add anything to stopping early?",
    reproduces="ours, after thesis section 3.3.2",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
