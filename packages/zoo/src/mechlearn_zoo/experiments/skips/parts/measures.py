"""Measures of the claims of parts: claimlab's own do, within a seed, whose methods share boards and starts."""
