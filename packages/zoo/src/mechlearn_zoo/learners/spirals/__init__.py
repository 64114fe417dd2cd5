"""Training on the spirals: what the experiments on them and the audit of two networks share."""
