"""Sweeps: settings searched within declared ranges, on validation rows alone, with the same number of trials for every method."""
