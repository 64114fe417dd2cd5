"""Witnesses: whether the present source still makes a record."""
