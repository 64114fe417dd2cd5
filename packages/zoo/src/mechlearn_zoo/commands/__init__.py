"""The commands that these experiments add to `mechlearn`: the lab's, and one that records an expert for CoinRun."""

from claimlab.cli import Program
from mechlearn_zoo.commands import coinrun

PROGRAM = Program("mechlearn", "mechlearn_zoo.experiments", {"coinrun": coinrun})
"""Registered as an entry point of the group `mechlearn.commands`, where `mechlearn.cli` finds it."""
