"""Files of checkpoints: tensors and JSON in one file of safetensors, with a digest of the whole.

The file before is kept: where the last one is damaged, a seed goes on from that.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from claimlab.errors import LabError
from claimlab.running.storage import write_atomically

FORMAT = 1
"""Of the JSON in a checkpoint."""

BLANK = b"0" * 64
"""What stands for the digest while it is computed."""

Identity = dict[str, str | int]
"""What must be equal where a checkpoint was made and where a seed goes on from it."""


@dataclass(frozen=True)
class Content:
    """What a checkpoint holds.

    Args:
        identity: what made it.
        facts: JSON.
        tensors: by name.
    """

    identity: Identity
    facts: dict[str, Any]
    tensors: Mapping[str, Any]


def checkpoint_path(folder: Path, seed: int, source: str) -> Path:
    """Where the checkpoint of a seed is kept in a run's folder: each source tree has its own."""
    return folder / f"seed-{seed}-{source[:6]}.checkpoint.safetensors"


def previous(path: Path) -> Path:
    """Where the one before is kept."""
    return path.with_name(path.name.replace(".checkpoint.", ".checkpoint-before."))


def checkpoints(folder: Path, seed: int) -> list[Path]:
    """All of a seed's, of any source."""
    return sorted(folder.glob(f"seed-{seed}-*.checkpoint*.safetensors"))


def write(path: Path, content: Content) -> None:
    """Replaces a checkpoint atomically, and keeps the one that was there.

    Raises:
        LabError: it cannot be written; the one before is still there.
    """
    try:
        data = _bytes(content)
    except TypeError as error:
        raise LabError(f"what a loop keeps must be JSON, but found: {error}; convert it first") from error
    try:
        if path.exists():
            path.replace(previous(path))
        write_atomically(path, data)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LabError(
            f"a checkpoint must be writable, but {path} is not ({reason}); mend that and go on from the last one"
        ) from error


def read(path: Path, identity: Identity) -> Content:
    """Reads a checkpoint.

    Raises:
        LabError: it is not as it was written, or something else made it; the sentence names the file and what differs.
    """
    try:
        content = _content(path.read_bytes())
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise LabError(f"a checkpoint must be as it was written, but {path} is not ({error}); it is not used") from error
    for key, ours in identity.items():
        theirs = content.identity.get(key)
        if theirs != ours:
            found = f"but {path} has {key} {_short(theirs)} instead of {_short(ours)}"
            raise LabError(f"a seed goes on from a checkpoint of its own kind, {found}; it is not used")
    return content


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
