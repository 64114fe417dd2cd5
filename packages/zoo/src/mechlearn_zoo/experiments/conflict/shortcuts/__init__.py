"""Training on the spirals behind shortcuts: what the experiments on that board share, and what they draw alike."""
