"""Worlds that move: episodes as frames of pictures."""
