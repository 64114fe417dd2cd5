"""Seeds and trials on a Ray cluster."""
