"""Memorising random labels: how the AND-mask hinders it, with every example an environment of its own."""
