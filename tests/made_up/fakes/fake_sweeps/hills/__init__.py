"""Hills."""
