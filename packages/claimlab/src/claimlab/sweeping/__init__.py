"""Sweeps: settings searched in declared ranges, on validation rows alone, with as many trials for every method."""
