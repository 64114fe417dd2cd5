"""Checkpoints inside a seed: what a long loop has yielded and holds, so that a killed seed goes on where it was."""
