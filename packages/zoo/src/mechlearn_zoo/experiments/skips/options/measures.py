"""Measures of the claims of options and actions: differences within a seed, whose methods share walks."""

from mechlearn_zoo.experiments.skips.comparing.measures import above_frequent, ahead

__all__ = ["above_frequent", "ahead"]
