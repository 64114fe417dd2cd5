"""Skips on states of worlds that were not made for them (ours, past thesis chapter 2; relative-skips)."""

from claimlab import Experiment
from mechlearn_zoo.experiments.skips.states import claims, figures, run

EXPERIMENT = Experiment(
    name="skips-states",
    title="Skips on states: a ball that stops, a falling body, and two worlds that go by a clock; fifteen trials each.",
    reproduces="ours, past thesis sections 2.2 and 2.3",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
