"""Models of worlds, and what can be done in them."""
