"""Measures of the claims of values from roll-outs: claimlab's own do, within a seed, whose methods share boards and starts."""
