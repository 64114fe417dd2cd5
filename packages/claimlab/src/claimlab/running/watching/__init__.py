"""Watching runs: what runs and what is done, logs and trackers, and what may go."""
