"""Adaptive skip intervals learn the outcome of a world sooner than models that predict every frame, or every second."""
