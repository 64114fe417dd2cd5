"""Showing runs: in the terminal, as a report, as pages of the documentation."""
