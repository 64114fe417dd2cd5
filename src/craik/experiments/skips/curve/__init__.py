"""How long a step should be: the error that accumulates until a fixed time, against the length of a step, by state."""
