"""What is observed, as trajectories: recorded episodes, states of several entries, latents of an encoder."""
