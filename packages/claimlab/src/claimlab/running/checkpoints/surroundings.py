"""The global generators of torch, NumPy and `random`: what `nn.Dropout` and the like draw from, kept with every loop."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sys
from typing import Any

import numpy as np

Surroundings = dict[str, Any]
"""States by whose they are, as JSON."""


def surroundings() -> Surroundings:
    """Return the states of the global generators; of torch only where it is loaded, of a GPU only where one is used."""
    version, words, gauss = random.getstate()
    name, keys, *rest = np.random.get_state()  # noqa: NPY002  # the global one, as somebody's code may draw from it
    found: Surroundings = {
        "random": [version, _text(np.array(words, dtype=np.uint64).tobytes()), gauss],
        "numpy": [str(name), _text(np.asarray(keys).tobytes()), *rest],
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = _text(torch.get_rng_state().numpy().tobytes())
        if torch.cuda.is_initialized():
            found["cuda"] = [_text(one.numpy().tobytes()) for one in torch.cuda.get_rng_state_all()]
    return found


def surround(found: Surroundings) -> None:
    """Give the global generators the states that `surroundings` found."""
    version, words, gauss = found["random"]
    random.setstate((version, tuple(np.frombuffer(_bytes(words), dtype=np.uint64).tolist()), gauss))
    name, keys, *rest = found["numpy"]
    np.random.set_state((name, np.frombuffer(_bytes(keys), dtype=np.uint32), *rest))  # noqa: NPY002
    if "torch" in found:
        import torch  # noqa: PLC0415  # an experiment without it needs none

        torch.set_rng_state(_tensor(torch, found["torch"]))
        if "cuda" in found and torch.cuda.is_available():
            torch.cuda.set_rng_state_all([_tensor(torch, one) for one in found["cuda"]])


def name_of(found: Surroundings) -> str:
    """Return a digest: loops that left the generators alike share one entry of a checkpoint."""
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def _tensor(torch: Any, text: str) -> Any:  # noqa: ANN401  # torch's
    return torch.frombuffer(bytearray(_bytes(text)), dtype=torch.uint8)


def _text(state: bytes) -> str:
    return base64.b64encode(state).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
