"""Running experiments: plans, workers, what a run leaves and what it came from."""
