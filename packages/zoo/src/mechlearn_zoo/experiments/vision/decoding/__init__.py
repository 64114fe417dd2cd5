"""What can be read of pictures and sounds from recordings, real neurons' and simulated voxels'."""

from craik.experiments.vision.decoding import claims, figures, run
from craik.lab import Experiment

EXPERIMENT = Experiment(
    name="decoding",
    title="Stimuli read from real neurons, pictures reconstructed from simulated voxels.",
    reproduces="Shen et al. 2019, on other recordings",
    presets=run.PRESETS,
    run=run.run,
    progress=run.progress,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
