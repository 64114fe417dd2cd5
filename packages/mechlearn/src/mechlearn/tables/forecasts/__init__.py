"""Trajectories of one's own: an estimator that steps, and whether it should choose its steps."""
