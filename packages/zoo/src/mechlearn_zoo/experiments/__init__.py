"""Every figure, table and claim of the papers as one file and one command; `craik list` shows what this folder holds."""

PROGRAM = "craik"
"""The command that searches this package."""
