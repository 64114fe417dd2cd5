"""Who does what next in a stag hunt, by models that see relations and by models that do not, and with teams nobody has seen."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.worlds.forward_models import figures, measures, run

EXPERIMENT = Experiment(
    name="forward-models",
    title="Next actions of many agents from recorded play: relations, more agents than in training, and new teammates.",
    reproduces="Tacchetti et al. 2019, sections 2 and 3, on a scripted stag hunt; new teammates are ours",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
