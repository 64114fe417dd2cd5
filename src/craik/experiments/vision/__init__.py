"""Positions, captions and recordings of pictures."""
