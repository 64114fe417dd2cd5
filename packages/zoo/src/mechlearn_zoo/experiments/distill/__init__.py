"""Learning to distill trajectories (thesis chapter 4)."""
