"""Columns known in training only, on a table of one's own: votes, networks that are taught, and whether either helps."""
