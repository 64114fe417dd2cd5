"""Reader of Caltech-UCSD Birds with captions, for those who have the files.

The layout of AttnGAN's data (https://github.com/taoxugit/AttnGAN): `images/CLASS/NAME.jpg`, `text/CLASS/NAME.txt` with a
caption a line, `images.txt` ("number path") and `train_test_split.txt` ("number 0 or 1"). The birds are described at
https://www.vision.caltech.edu/datasets/cub_200_2011. Nothing is downloaded.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_whole


class Bird(NamedTuple):
    """One picture's file, its captions and its class (the folder)."""

    path: Path
    captions: tuple[str, ...]
    kind: str


def birds(folder: str | Path, train: bool = True) -> list[Bird]:
    """Return the pictures of one part, in the order of `images.txt`.

    Args:
        folder: that holds `images.txt`.
        train: the training part, else the test part.

    Raises:
        FileNotFoundError: a file of the layout is missing; the sentence names it.
        ValueError: a picture without captions or part, or a line that is no number and what belongs to it.
    """
    root = Path(folder)
    for name in ("images.txt", "train_test_split.txt", "images", "text"):
        if not (root / name).exists():
            raise FileNotFoundError(
                f"A folder of birds holds images.txt, train_test_split.txt, images and text. Found no {name} in {str(root)!r}. "
                "They are described at https://www.vision.caltech.edu/datasets/cub_200_2011 and in AttnGAN's repository."
            )
    paths, parts = (_numbered(root / name) for name in ("images.txt", "train_test_split.txt"))
    lacking = next((number for number in paths if number not in parts), None)
    if lacking is not None:
        raise ValueError(
            f"train_test_split.txt should say of every picture of images.txt where it belongs. Found none for {lacking!r}."
        )
    return [_bird(root, path) for number, path in paths.items() if (parts[number] == "1") == train]


def picture(bird: Bird, size: int) -> Float[Tensor, "3 h w"]:
    """Return a bird's picture in [0, 1], its middle square resized.

    Raises:
        ImportError: pillow is not installed.
        ValueError: a size below 1.
    """
    check_whole("size", size, 1)
    try:
        from PIL import Image  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("Pictures are read by pillow. Found none. Run `pip install mechlearn-zoo`.") from error
    with Image.open(bird.path) as image:
        side = min(image.size)
        left, top = ((length - side) // 2 for length in image.size)
        square = image.convert("RGB").crop((left, top, left + side, top + side)).resize((size, size))
    return torch.from_numpy(np.array(square)).float().div(255).movedim(-1, 0)


def _numbered(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, line in enumerate(path.read_text().splitlines(), start=1):
        words = line.split(maxsplit=1)
        if len(words) == 1:
            raise ValueError(f"A line should be a number and what belongs to it. Found {line!r} in line {place} of {path}.")
        if words:
            found[words[0]] = words[1].strip()
    return found


def _bird(root: Path, path: str) -> Bird:
    text = root / "text" / Path(path).with_suffix(".txt")
    captions = tuple(line.strip() for line in text.read_text().splitlines() if line.strip()) if text.is_file() else ()
    if not captions:
        raise ValueError(
            f"Every picture should have a caption a line in {str(text)!r}. Found none. Leave the picture out of images.txt."
        )
    return Bird(root / "images" / path, captions, Path(path).parent.name)
