"""What does not find the spirals, and what does: dropout, L1, L2, BatchNorm, DANN, IRM and the AND-mask, drawn alike."""
