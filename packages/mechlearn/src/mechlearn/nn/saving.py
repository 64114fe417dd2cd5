"""Files of trained networks: tensors as safetensors, named by their digest in a card beside them, and never half-written."""

import hashlib
import importlib
import os
import stat
from pathlib import Path
from typing import Any


def sha256(content: bytes) -> str:
    """Return the digest by which a card knows its tensors."""
    return hashlib.sha256(content).hexdigest()


def read_at_most(path: Path, most: int) -> bytes:
    """Return what a file holds; a link is not followed, a pipe or a device not waited for.

    Args:
        path: of the file.
        most: bytes that it may have.

    Raises:
        OSError: if it cannot be opened, as a link cannot.
        ValueError: if it is not a file, or larger.
    """
    further = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | further)) as file:  # Path.open takes no opener
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            size = f"{found.st_size:,} bytes" if stat.S_ISREG(found.st_mode) else "a pipe or a device"
            raise ValueError(f"A file of a model should have at most {most:,} bytes. Found {size} in {path.name}. Fit again.")
        return file.read()


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
