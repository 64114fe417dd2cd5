"""Adaptive skip intervals (thesis chapter 2)."""
