"""What a trained teacher uses, by frame and layer (thesis chapter 5, limitations: interpretability; section 4.3.2)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.distill.reading import figures, measures, run

EXPERIMENT = Experiment(
    name="distill-reading",
    title="Reading what a teacher used: its frames by layer in the Game of Life, and on a body whose last frames are noise.",
    reproduces="thesis section 4.3.2 and chapter 5, limitations (what a teacher omits and reorders)",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
)
