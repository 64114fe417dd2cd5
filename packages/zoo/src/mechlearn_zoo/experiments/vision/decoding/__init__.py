"""What can be read of pictures and sounds from recordings, real neurons' and simulated voxels'."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.vision.decoding import figures, measures, run

EXPERIMENT = Experiment(
    name="decoding",
    title="Stimuli read from real neurons, pictures reconstructed from simulated voxels.",
    reproduces="Shen et al. 2019, on other recordings",
    presets=run.PRESETS,
    run=run.run,
    progress=run.progress,
    claims=claims_of(measures),
    figures=figures.figures,
)
