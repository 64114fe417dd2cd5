"""The rows of one seed of an experiment, at settings small enough for a test."""

from dataclasses import replace

from claimlab import Rows, judge


def rows_of(experiment, seed=0, config=None, **settings):
    """The rows that a run of the quick preset with these settings gives, or of a config; `seed` is what the lab adds."""
    small = replace(config or experiment.presets["quick"].config, **settings)
    return Rows([{**row, "seed": seed} for row in experiment.run(small)])


def check_measured_and_drawn(experiment, rows, presets=("quick",)):
    """Every claim finds its number in the rows, judged as those of one of these presets, and the figures are drawn."""
    for claim in experiment.claims:
        assert any(judge(claim, rows, preset).measured is not None for preset in presets), claim.id
    assert experiment.figures(Rows(rows))
