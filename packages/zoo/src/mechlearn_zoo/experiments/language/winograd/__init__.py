"""A language model probed as Winograd schemas should be, trained by averaging and by agreement."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.language.winograd import figures, measures, run

EXPERIMENT = Experiment(
    name="winograd",
    title="Winograd schemas with a dial for association: who reasons, who counts, and what agreement of environments changes.",
    reproduces="Trichelair et al. 2019 in a generated world; the claim on agreement is ours",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
