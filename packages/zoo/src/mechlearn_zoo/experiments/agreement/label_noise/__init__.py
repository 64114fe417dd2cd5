"""A quarter of the labels is wrong (thesis section 3.3.2, figure 3.9)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.agreement.label_noise import (
    conflict_examples,
    early_stopping,
    early_stopping_measures,
    figures,
    measures,
    run,
)

EXPERIMENT = Experiment(
    name="label-noise",
    title="A quarter of the labels is wrong: averaging fits them in the end, the AND-mask leaves them.",
    reproduces="thesis section 3.3.2 and appendix B.2.5, figure 3.9; paper section 3.2, figure 9",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    ranges=run.RANGES,
    parts=(
        Experiment(
            name="label-noise",
            title="Wrong labels by share and number of images: does the AND-mask add anything to stopping early?",
            reproduces="ours, after thesis section 3.3.2",
            presets=early_stopping.PRESETS,
            run=early_stopping.run,
            claims=claims_of(early_stopping_measures, "early_stopping.toml"),
            figures=figures.early_stopping,
            progress=early_stopping.progress,
        ),
        Experiment(
            name="label-noise",
            title="Single examples as environments: counting signs, a t-test and a robust mean on wrong and on random labels.",
            reproduces="ours; the boards of thesis section 3.3.2 on a small network",
            presets=conflict_examples.PRESETS,
            run=conflict_examples.run,
            claims=claims_of(measures, "conflict_examples.toml"),
            figures=figures.conflict_examples,
        ),
    ),
)
