"""Worlds of several agents, all drawn from a seed."""
