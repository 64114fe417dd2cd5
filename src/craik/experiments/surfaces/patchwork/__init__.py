"""A patchwork: two sigmoids sewn together, one for each environment, and how easy the result is to vary."""
