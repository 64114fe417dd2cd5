"""Two loss surfaces and their mean: a minimum that exists in neither, and gradients that tell."""
