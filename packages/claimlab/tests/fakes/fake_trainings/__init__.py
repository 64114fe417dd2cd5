"""Somebody's long trainings, which are kept inside a seed. `fake_copies.trainings` gives a test a copy to edit."""
