"""Trajectories of different lengths as one padded batch, and the ways in and out of it."""

from mechlearn.trajectories.batch import Trajectories as Trajectories
