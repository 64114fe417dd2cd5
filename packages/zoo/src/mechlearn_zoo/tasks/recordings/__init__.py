"""Recordings of neurons and voxels, real ones and simulated ones, with what was shown."""
