"""Results of a long comparison, a file each as soon as there is one: what is there is read, not made again."""

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.nn.saving import write_at_once

Arrays = Mapping[str, NDArray[Any]]
"""A result."""


@dataclass(eq=False)
class Parts:
    """A folder of results, None to keep nothing; whoever gives it answers for it that all of them belong to one question."""

    folder: Path | None
    found: int = 0

    def made(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return a result by its name: what is there, or else what is made now, and kept before it is given."""
        if self.folder is None:
            return make()
        path = self.folder / f"{name.replace(' ', '-')}.npz"
        there = _read(path)
        if there is not None:
            self.found += 1
            return there
        result = make()
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **dict(result))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_at_once(path, content.getvalue())
        return result


def _read(path: Path) -> Arrays | None:
    try:
        # The bytes first: of a file cut short NumPy leaves the handle open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile):  # none, or no result of ours: made again
        return None


NOWHERE = Parts(None)
"""Keeps nothing."""
