"""Worlds with finitely many states: tables of next states and probabilities, pictures of what stands where."""
