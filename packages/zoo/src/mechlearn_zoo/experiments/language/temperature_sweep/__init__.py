"""Generators compared as curves over temperatures, not as points."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.language.temperature_sweep import figures, measures, run

EXPERIMENT = Experiment(
    name="temperature-sweep",
    title="Quality against diversity over temperatures: maximum likelihood and SeqGAN.",
    reproduces="Caccia et al. 2020, figure 2, at a small size",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    parts=(
        Experiment(
            name="temperature-sweep",
            title="SeqGAN against maximum likelihood, judged by the true distribution.",
            reproduces="Yu et al. 2017, table 1, at a small size",
            presets=run.SEQGAN,
            run=run.run,
            claims=claims_of(measures, "seqgan.toml"),
            figures=figures.rounds,
        ),
    ),
)
