"""Translation while the source still arrives, against attention over all of it."""

from craik.experiments.language.eager import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="eager",
    title="Eager translation of reordered clauses, by start pads, against attention; longer sentences than in training.",
    reproduces="Press and Smith 2018, section 5, on generated sentences",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
