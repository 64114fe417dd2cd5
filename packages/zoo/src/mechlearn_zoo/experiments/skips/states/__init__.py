"""Skips on states of worlds that were not made for them (ours, past thesis chapter 2; relative-skips)."""

from typing import get_args

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.skips.states import figures, measures, run, timing

EXPERIMENT = Experiment(
    name="skips-states",
    title="Skips on states: a ball that stops, a falling body, and two worlds that go by a clock; fifteen trials each.",
    reproduces="ours, past thesis sections 2.2 and 2.3",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    parts=(
        Experiment(
            name="skips-states",
            title="Skips relative to distance, on states whose timing is random or regular: few steps, and sharp states.",
            reproduces="ours, past thesis chapter 2; its section 2.2 against fixed steps of up to 16 and direct prediction",
            presets=timing.PRESETS,
            run=timing.run,
            claims=claims_of(measures, "timing.toml"),
            figures=figures.timing,
            progress=progress_over(timing=get_args(timing.Timing), method=timing.METHODS),
        ),
    ),
)
