"""Translation while the source still arrives, against attention over all of it."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.language.eager import figures, measures, run

EXPERIMENT = Experiment(
    name="eager",
    title="Eager translation of reordered clauses, by start pads, against attention; longer sentences than in training.",
    reproduces="Press and Smith 2018, section 5, on generated sentences",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
