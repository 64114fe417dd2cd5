"""Networks and blocks that two rooms use; no task, no loop: perceptrons, convolutions over time, residual, adversarial, stacks."""
