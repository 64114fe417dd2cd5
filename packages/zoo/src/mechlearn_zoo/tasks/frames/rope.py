"""Reader of the rope pictures that Causal InfoGAN was tried on, for those who have the files.

The layout of `rope_full`: a folder a run, in it pictures that follow each other by name and `actions.npy`, a row a picture,
whose last number is 1 where the robot moved the rope after it and 0 where the scene was reset. The pictures are those of Nair
et al. 2017 (https://arxiv.org/abs/1703.02018); https://github.com/thanard/causal-infogan says where they are. Nothing is
downloaded.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_not_negative, check_whole

KINDS = {".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".webp"}
DESCRIBED = "https://github.com/thanard/causal-infogan describes the pictures, mechlearn_zoo.tasks.frames.rope their layout."


class RopePair(NamedTuple):
    """Two pictures' files, the second `apart` moves after the first."""

    before: Path
    after: Path


def rope_pairs(folder: str | Path, apart: int = 1) -> list[RopePair]:
    """Return all pairs of pictures between which the rope was moved and the scene was not reset, run by run.

    The published code joins all runs and sets the last row of each to a reset, so that no pair crosses runs: as here.

    Args:
        folder: that holds a folder a run.
        apart: moves between the two pictures.

    Raises:
        FileNotFoundError: no run, or a run without `actions.npy`.
        TypeError: no whole number of moves.
        ValueError: fewer than one move, or not one row of actions a picture.
    """
    check_whole("apart", apart, 1)
    root = Path(folder)
    runs = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    if not runs:
        raise FileNotFoundError(f"Rope pictures lie in a folder a run. Found none in {str(root)!r}. {DESCRIBED}")
    found: list[RopePair] = []
    for run in runs:
        pictures, moved = _read(run)
        for i in range(len(pictures) - apart):
            if moved[i : i + apart].all():
                found.append(RopePair(pictures[i], pictures[i + apart]))
    return found


def read_pairs(pairs: list[RopePair], size: int = 64, least: float = 0.25) -> Float[Tensor, "n 2 3 h w"]:
    """Return the pictures of pairs in [0, 1], their middle squares resized, without pairs in which nothing changed.

    Args:
        pairs: of `rope_pairs`.
        size: pixels of a side; 64 in the published code.
        least: a pair is kept where some number differs by more; 0.25 is the published 0.5 of numbers in [-1, 1].

    Raises:
        ImportError: pillow is not installed.
        TypeError: a size that is no whole number.
        ValueError: a size below 1, a negative difference.
    """
    check_whole("size", size, 1)
    check_not_negative("least", least)
    read = {path: _picture(path, size) for path in {path for pair in pairs for path in pair}}
    found = [torch.stack([read[path] for path in pair]) for pair in pairs]
    kept = [both for both in found if float((both[1] - both[0]).abs().max()) > least]
    return torch.stack(kept) if kept else torch.zeros(0, 2, 3, size, size)


def _read(run: Path) -> tuple[list[Path], np.ndarray]:
    if not (run / "actions.npy").is_file():
        raise FileNotFoundError(f"Every run should have a file actions.npy. Found none in {str(run)!r}. {DESCRIBED}")
    pictures = sorted(path for path in run.iterdir() if path.suffix.lower() in KINDS)
    actions = np.load(run / "actions.npy", allow_pickle=False)
    if actions.ndim != 2 or len(actions) != len(pictures):
        raise ValueError(
            f"There should be a row of actions a picture. Found {len(pictures)} pictures and actions of shape "
            f"{actions.shape} in {str(run)!r}. Leave the run out, or mend it."
        )
    return pictures, actions[:, -1] > 0


def _picture(path: Path, size: int) -> Tensor:
    try:
        from PIL import Image  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("Pictures are read by pillow. Found none. Run `pip install mechlearn-zoo`.") from error
    with Image.open(path) as image:
        side = min(image.size)
        left, top = ((length - side) // 2 for length in image.size)
        square = image.convert("RGB").crop((left, top, left + side, top + side)).resize((size, size), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(square)).float().div(255).movedim(-1, 0)
