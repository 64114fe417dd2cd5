"""Worlds and those who act in them: forward models, influence, language."""
