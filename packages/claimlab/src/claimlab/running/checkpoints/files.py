"""Files of checkpoints: tensors and JSON in one file of safetensors, with a digest of the whole, and a journal of rows.

The file before is kept: where the last one is damaged, a seed goes on from that. Rows and what loops kept are appended to the
journal, each once, so that a checkpoint of a long seed costs what one of a short seed does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from claimlab.errors import LabError
from claimlab.running.storage import write_atomically

FORMAT = 2
"""Of the JSON in a checkpoint."""

BLANK = b"0" * 64
"""What stands for the digest while it is computed."""

Identity = dict[str, str | int]
"""What must be equal where a checkpoint was made and where a seed goes on from it."""


@dataclass(frozen=True)
class Content:
    """What a checkpoint holds."""

    identity: Identity
    facts: dict[str, Any]
    tensors: Mapping[str, Any]


def checkpoint_path(folder: Path, seed: int, source: str) -> Path:
    """Return where the checkpoint of a seed is kept in a run's folder: each source tree has its own."""
    return folder / f"seed-{seed}-{source[:6]}.checkpoint.safetensors"


def previous(path: Path) -> Path:
    """Return where the one before is kept."""
    return path.with_name(path.name.replace(".checkpoint.", ".checkpoint-before."))


def files_of(path: Path) -> tuple[Path, Path, Path]:
    """Return the files of a checkpoint: itself, the one before, and their journal."""
    return path, previous(path), path.with_name(path.name.replace(".checkpoint.safetensors", ".checkpoint.jsonl"))


def checkpoints(folder: Path, seed: int) -> list[Path]:
    """Return all files of a seed's, of any source."""
    return sorted(folder.glob(f"seed-{seed}-*.checkpoint*"))


class Journal:
    """Lines of JSON that are written once: a checkpoint says how many bytes of them count, and their digest."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, files_of(path)[2]
        self._size, self._digest = 0, hashlib.sha256()

    def add(self, entries: Iterable[object]) -> dict[str, Any]:
        """Write entries behind those that count, and return what a checkpoint says of them all."""
        with _in_words(self._path):
            data = "".join(json.dumps(one) + "\n" for one in entries).encode()
            if data:
                self._append(data)
        return {"bytes": self._size, "digest": self._digest.hexdigest()}

    def _append(self, data: bytes) -> None:
        if not self._size:
            self._file.unlink(missing_ok=True)
        with self._file.open("r+b" if self._size else "xb") as file:
            file.truncate(self._size)  # a killed process may have written more than its last checkpoint says
            file.seek(self._size)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._size += len(data)
        self._digest.update(data)

    def back_to(self, path: Path, said: Mapping[str, Any]) -> list[Any]:
        """Return the entries that count for a checkpoint; the next ones are written behind these."""
        with _as_written(path):
            data = self._file.read_bytes()[: said["bytes"]] if said["bytes"] else b""
            digest = hashlib.sha256(data)
            if digest.hexdigest() != said["digest"]:
                raise ValueError(f"the digest of {self._file.name} is another")
            entries = [json.loads(line) for line in data.splitlines()]
        self._size, self._digest = len(data), digest
        return entries


def write(path: Path, content: Content) -> None:
    """Replace a checkpoint atomically and keep the one that was there."""
    with _in_words(path):
        data = _bytes(content)
        if path.exists():
            path.replace(previous(path))
        write_atomically(path, data)


@contextlib.contextmanager
def _in_words(path: Path) -> Generator[None]:
    """Say what cannot be written."""
    try:
        yield
    except TypeError as error:
        raise LabError(f"What a loop keeps should be JSON. Found: {error}. Convert it first.") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LabError(
            f"A checkpoint should be writable. Found that {path} is not ({reason}). Fix that and continue from the last one."
        ) from error


def read(path: Path, identity: Identity) -> Content:
    """Read a checkpoint."""
    with _as_written(path):
        content = _content(path.read_bytes())
    for key, ours in identity.items():
        theirs = content.identity.get(key)
        if theirs != ours:
            found = f"but {path} has {key} {_short(theirs)} instead of {_short(ours)}"
            raise LabError(f"A checkpoint should be of the seed's own kind, {found}. It is not used.")
    return content


@contextlib.contextmanager
def _as_written(path: Path) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise LabError(f"A checkpoint should be as it was written. Found {path} changed ({error}). It is not used.") from error


def _bytes(content: Content) -> bytes:
    facts = json.dumps({"format": FORMAT, "identity": content.identity, **content.facts})
    metadata = {"claimlab": facts, "digest": BLANK.decode()}
    if "torch" in sys.modules:
        import torch  # noqa: PLC0415  # an experiment without it needs none
        from safetensors.torch import save  # noqa: PLC0415

        arrays = {name: torch.from_numpy(one) if isinstance(one, np.ndarray) else one for name, one in content.tensors.items()}
        blank = save(arrays, metadata)
    else:
        from safetensors.numpy import save  # noqa: PLC0415

        blank = save(dict(content.tensors), metadata)
    where = _place_of_digest(blank, BLANK)
    return blank[:where] + hashlib.sha256(blank).hexdigest().encode() + blank[where + len(BLANK) :]


def _content(data: bytes) -> Content:
    length = int.from_bytes(data[:8], "little")
    try:
        metadata = json.loads(data[8 : 8 + length])["__metadata__"]
        digest = metadata["digest"].encode()
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError("its header is unreadable") from None
    where = _place_of_digest(data, digest)
    if (
        len(digest) != len(BLANK)
        or hashlib.sha256(data[:where] + BLANK + data[where + len(BLANK) :]).hexdigest() != digest.decode()
    ):
        raise ValueError("its digest is another")
    facts = json.loads(metadata["claimlab"])
    if facts.pop("format") != FORMAT:
        raise ValueError("its format is of another version of claimlab")
    if "torch" in sys.modules:
        from safetensors.torch import load  # noqa: PLC0415
    else:
        from safetensors.numpy import load  # noqa: PLC0415
    return Content(facts.pop("identity"), facts, load(data))


def _place_of_digest(data: bytes, digest: bytes) -> int:
    return data.index(b'"' + digest + b'"', 8, 8 + int.from_bytes(data[:8], "little")) + 1


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:12]}..."
