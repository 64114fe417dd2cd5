"""A random search of the AND-mask's settings on the spirals, selected on held-out environments."""
