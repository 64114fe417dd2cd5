"""What distilled trajectories live on: each part of LDT taken away, and other uses of the same privileged data."""
