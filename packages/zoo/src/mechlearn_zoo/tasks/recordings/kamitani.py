"""Reader of the published recordings of Kamitani's laboratory, for those who have the files.

Each subject is an HDF5 file in the layout "bdata" (https://github.com/KamitaniLab/bdpy): `dataset`, a table of samples by
columns, and `metadata`
with `key`, `value` and `description`; a row of `value` is 1 at the columns that the key names ("ROI_VC", "stimulus_name",
"Label"). The
recordings of Shen et al. 2019 are described at https://github.com/KamitaniLab/DeepImageReconstruction. Nothing is downloaded.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor


class Session(NamedTuple):
    """Recordings (n, v) of a region, and the columns of a label (n, k), in float64: numbers of pictures have 13 digits."""

    voxels: Float[Tensor, "n v"]
    labels: Float64[Tensor, "n k"]


def read_bdata(path: str | Path, region: str = "ROI_VC", label: str = "Label") -> Session:
    """Return the samples of one file.

    Args:
        path: of the HDF5 file.
        region: key of the voxels' columns, such as "ROI_VC" or "ROI_V1".
        label: key of the columns that say what was shown.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: h5py is not installed.
        KeyError: no such key; the sentence names those that there are.
        ValueError: no HDF5 file, or one of another layout.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"Recordings should be an HDF5 file in the layout bdata. Found no file {str(path)!r}. They are described at "
            "https://github.com/KamitaniLab/DeepImageReconstruction."
        )
    try:
        import h5py  # pyright: ignore[reportMissingImports]  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("These recordings are HDF5. Found no h5py. Run `pip install h5py`.") from error
    if not h5py.is_hdf5(path):
        raise ValueError(f"Recordings should be an HDF5 file in the layout bdata. Found another file, {str(path)!r}.")
    with h5py.File(path, "r") as file:
        if "dataset" not in file or not {"key", "value"} <= set(file.get("metadata", {})):
            raise ValueError(f"A bdata file holds `dataset` and `metadata` with key and value. Found {sorted(file)}.")
        data = np.asarray(file["dataset"])
        keys = [_text(key) for key in np.asarray(file["metadata/key"]).ravel()]
        values = np.asarray(file["metadata/value"], dtype=float)
    voxels, labels = (data[:, _columns(keys, values, key)] for key in (region, label))
    return Session(torch.from_numpy(voxels.astype(np.float32)), torch.from_numpy(labels.astype(np.float64)))


def _columns(keys: list[str], values: Any, key: str) -> Any:  # noqa: ANN401  # arrays
    if key not in keys:
        raise KeyError(f"`{key}` should be a key of the metadata. Found {keys[:20]}. Take one of these.")
    return np.flatnonzero(np.nan_to_num(values[keys.index(key)]) == 1)


def _text(key: object) -> str:
    return key.decode() if isinstance(key, bytes) else str(key)
