"""A trained student alone, in a file. Nothing of the teacher is needed to serve it."""

from pathlib import Path
from typing import Any

from torch import nn

_MISSING = "Saving and loading students needs safetensors, which is not installed; pip install safetensors."


def save_student(student: nn.Module, path: str | Path) -> None:
    """Write a student's parameters and buffers with safetensors; tied tensors are written once.

    Args:
        student: what is saved; the teacher is not needed any more.
        path: of the file, which is overwritten.

    Raises:
        ImportError: safetensors is not installed.
    """
    _safetensors().save_model(student, str(path))


def load_student(student: nn.Module, path: str | Path) -> nn.Module:
    """Read what `save_student` wrote into a student of the same architecture, and return it.

    Args:
        student: what is read into, in place.
        path: of the file.

    Raises:
        ImportError: safetensors is not installed.
        RuntimeError: the file's tensors are not those of the student.
    """
    _safetensors().load_model(student, str(path))
    return student


def _safetensors() -> Any:  # noqa: ANN401  # a module
    try:
        import safetensors.torch as module  # noqa: PLC0415  # an extra's
    except ImportError:
        raise ImportError(_MISSING) from None
    return module
