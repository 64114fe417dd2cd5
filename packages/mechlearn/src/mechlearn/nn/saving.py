"""Files of trained networks: tensors as safetensors, named by their digest in a card beside them, and never half-written."""

import hashlib
import importlib
import os
from pathlib import Path
from typing import Any


def sha256(content: bytes) -> str:
    """Return the digest by which a card knows its tensors."""
    return hashlib.sha256(content).hexdigest()


def write_at_once(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)  # whatever lies there, a link too, is not written through
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def safetensors(kind: str) -> Any:  # noqa: ANN401  # a module of an optional package
    """Return safetensors' module for "torch" or for "numpy".

    Raises:
        ImportError: safetensors is not installed.
    """
    try:
        return importlib.import_module(f"safetensors.{kind}")
    except ImportError as error:
        raise ImportError(
            "Saving and loading networks needs safetensors, which is not installed; pip install safetensors."
        ) from error
