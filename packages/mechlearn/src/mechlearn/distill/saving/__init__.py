"""What outlives a run, and what a refusal must not change: files of modules, states to go on from, calls that are undone."""
