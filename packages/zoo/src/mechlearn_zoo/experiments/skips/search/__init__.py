"""Every method at the best settings that the same search finds for it (thesis tables A.1 and A.2)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.skips.search import figures, measures, run

EXPERIMENT = Experiment(
    name="skips-search",
    title="Every method at the best settings that the same search finds for it: is ASI still ahead?",
    reproduces="thesis section 2.3.2 (nine runs for each method), appendix A, tables A.1 and A.2",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
