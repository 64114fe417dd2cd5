"""Audit of two trained networks: which environments disagree about them, and in which parameters."""
