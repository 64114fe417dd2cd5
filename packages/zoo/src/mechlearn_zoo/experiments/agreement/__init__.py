"""Gradients that agree: memorisation, wrong labels, colours, levels of a game (thesis chapter 3)."""
