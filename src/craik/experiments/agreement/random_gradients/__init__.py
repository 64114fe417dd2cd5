"""How fast the AND-mask silences pure noise: the squared norm of averaged and masked random gradients."""
