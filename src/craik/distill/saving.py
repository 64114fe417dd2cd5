"""A trained student alone, in a file: nothing of the teacher is needed to serve it."""

from pathlib import Path

from torch import nn


def save_student(student: nn.Module, path: str | Path) -> None:
    """Write a student's parameters and buffers with safetensors.

    Raises:
        ImportError: safetensors is not installed; the message says how to get it.
    """
    raise NotImplementedError


def load_student(student: nn.Module, path: str | Path) -> nn.Module:
    """Read what `save_student` wrote into a student of the same architecture, and return it."""
    raise NotImplementedError
