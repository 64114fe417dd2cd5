"""The rows of one seed of an experiment, at settings small enough for a test."""

from dataclasses import replace

from craik.lab import Rows


def rows_of(experiment, seed=0, config=None, **settings):
    """The rows that a run of the quick preset with these settings gives, or of a config; `seed` is what the lab adds."""
    small = replace(config or experiment.presets["quick"].config, **settings)
    return Rows([{**row, "seed": seed} for row in experiment.run(small)])
