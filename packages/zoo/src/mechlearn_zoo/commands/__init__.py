"""The commands that these experiments add to `craik`: the lab's, and one that records an expert for CoinRun."""

from craik.commands import coinrun
from craik.lab.cli import Program

PROGRAM = Program("craik", "craik.experiments", {"coinrun": coinrun})
"""Registered as an entry point of the group `craik.commands`, where `craik.cli` finds it."""
