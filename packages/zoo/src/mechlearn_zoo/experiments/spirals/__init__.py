"""Spirals behind shortcuts (thesis section 3.3.1): the mechanism that averaging misses."""
