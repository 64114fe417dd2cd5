"""Every figure, table and claim of the papers as one folder and one command; `mechlearn list` shows what this package holds."""

PROGRAM = "mechlearn"
"""The command that searches this package."""

SOURCES = ("mechlearn",)
"""Whose code counts as these experiments' source, beside their own package's and the lab's."""
