"""Real recordings: spikes of a grasshopper's auditory receptor neuron, and the sound's envelope that it heard.

Two recordings of the same cell, of ten seconds each, bundled with nitime (BSD; recorded by A. Rokem, S. Watzl, T. Gollisch,
M. Stemmler, A. Herz and I. Samengo 2006,
https://doi.org/10.1152/jn.00928.2005): `pip install 'mechlearn-zoo[worlds]'`. Nothing is copied or downloaded: the files are
read where nitime has them.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_whole

SECONDS = 10


class Recording(NamedTuple):
    """Spikes (t, 1) in each bin and the stimulus' mean amplitude (t,) in it."""

    spikes: Float[Tensor, "t 1"]
    stimulus: Float[Tensor, " t"]
    name: str


def grasshopper(neuron: int, bin_ms: int = 1) -> Recording:
    """Return one of the two recordings.

    Args:
        neuron: number of the recording, 1 (a slow stimulus of small amplitude) or 2 (a faster one).
        bin_ms: milliseconds of a bin.

    Raises:
        ImportError: nitime is not installed.
        ValueError: another number, or a bin that does not divide ten seconds.
    """
    check_whole("neuron", neuron, 1)
    check_whole("bin_ms", bin_ms, 1)
    if neuron > 2 or (1000 * SECONDS) % bin_ms:
        raise ValueError(
            f"There are neurons 1 and 2, and bins that divide 10000 ms. Found neuron {neuron}, bins of {bin_ms} ms."
        )
    folder = _folder()
    bins, micro = 1000 * SECONDS // bin_ms, 1000 * bin_ms
    times = np.loadtxt(folder / f"grasshopper_spike_times{neuron}.txt")
    counts = np.bincount((times // micro).astype(int)[times < bins * micro], minlength=bins)
    stimulus = np.loadtxt(folder / f"grasshopper_stimulus{neuron}.txt")
    place = np.minimum((stimulus[:, 0] // micro).astype(int), bins - 1)
    mean = np.bincount(place, stimulus[:, 1], bins) / np.maximum(np.bincount(place, minlength=bins), 1)
    return Recording(
        torch.from_numpy(counts).float()[:, None], torch.from_numpy(mean).float(), f"grasshopper {neuron} (nitime, real)"
    )


def _folder() -> Path:
    try:
        import nitime  # pyright: ignore[reportMissingImports]  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError(
            "The grasshopper's recordings are bundled with nitime. Found none. Run `pip install 'mechlearn-zoo[worlds]'`."
        ) from error
    return Path(str(nitime.__file__)).parent / "data"
