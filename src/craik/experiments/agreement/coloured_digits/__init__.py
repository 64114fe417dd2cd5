"""Coloured digits: eight ways to train on two environments, three ways to choose their settings, one budget."""
