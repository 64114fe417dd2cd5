"""Networks and blocks that two rooms use; no task, no loop: perceptrons, convolutions, residual, adversarial, stacks, files;
coordinates, categorical choices, graphs, attention."""
