"""Hypothesis classes that extrapolate, with each of the three systems (thesis chapter 5, outlook)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.worlds.equations import figures, measures, run

EXPERIMENT = Experiment(
    name="equations",
    title="Networks of formulas under the AND-mask, ASI and LDT: errors outside of the training range.",
    reproduces="thesis chapter 5, outlook: symbolic equations combined with its methods; the thesis only proposes it",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("outside", arm="arms", network="networks"),
)
