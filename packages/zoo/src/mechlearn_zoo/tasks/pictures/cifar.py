"""CIFAR-10 from an archive that the user has: read and checked, never downloaded, never unpacked onto the disk.

The public archives (Krizhevsky, 2009) hold five files of 10,000 training images and one of 10,000 test images, 32 x 32 pixels
in three colours. The python archive's files are pickles; they are read by an unpickler that knows arrays and nothing else.
"""

import hashlib
import io
import pickle
import tarfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from mechlearn_zoo.tasks.pictures.images import ImageData, Images

Array = NDArray[np.generic]

WHERE = "https://www.cs.toronto.edu/~kriz/cifar.html"
CLASSES = 10


class Archive(NamedTuple):
    """What a public archive must be: its file name, size in bytes and SHA-256 digest, and the path of its six files."""

    name: str
    size: int
    digest: str
    members: tuple[str, ...]


_BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")

ARCHIVES = (
    Archive(
        "cifar-10-python.tar.gz",
        170_498_071,
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        tuple(f"cifar-10-batches-py/{name}" for name in _BATCHES),
    ),
    Archive(
        "cifar-10-binary.tar.gz",
        170_052_171,
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        tuple(f"cifar-10-batches-bin/{name}.bin" for name in _BATCHES),
    ),
)


def cifar10(folder: str | Path, seed: int = 0, validation: int = 5000, archives: tuple[Archive, ...] = ARCHIVES) -> ImageData:
    """Read CIFAR-10 from a folder that holds one of the two public archives.

    Args:
        folder: where cifar-10-python.tar.gz or cifar-10-binary.tar.gz lies; the python archive is taken if both do.
        seed: of the split of the training images.
        validation: how many of the 50,000 training images are held out.
        archives: what the archives must be; tests pass small ones.

    Returns:
        Images of shape (b, 3, 32, 32) as bytes, labels 0 to 9; the test images are the archive's.

    Raises:
        FileNotFoundError: no folder, or no archive in it.
        PermissionError: the folder or the archive may not be read.
        ValueError: an archive that is truncated or damaged or holds something else, or a size of the validation set that
            leaves nothing to train on.
    """
    archive, path = _find(Path(folder), archives)
    _check(path, archive)
    parts = _read(path, archive)
    images = [torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*parts[:-1], strict=True)]
    if not 1 <= validation < len(images[0]):
        raise ValueError(f"`validation` should lie between 1 and {len(images[0]) - 1}. Found {validation}.")
    order = torch.randperm(len(images[0]), generator=Generator().manual_seed(seed))
    held_out, kept = order[:validation], order[validation:]
    test = Images(*(torch.from_numpy(array) for array in parts[-1]))
    train, held = (Images(images[0][rows], images[1][rows]) for rows in (kept, held_out))
    return ImageData(train, held, test, name="CIFAR-10 (real, 32 x 32 colour)")


def _find(folder: Path, archives: tuple[Archive, ...]) -> tuple[Archive, Path]:
    names = " or ".join(archive.name for archive in archives)
    advice = f"Download one from {WHERE} into it; nothing is downloaded for you."
    try:
        present = {path.name for path in folder.iterdir()}
    except FileNotFoundError as error:
        raise FileNotFoundError(f"The folder should hold {names}. Found no folder {str(folder)!r}. {advice}") from error
    except NotADirectoryError as error:
        raise FileNotFoundError(f"`folder` should be a folder that holds {names}. Found the file {str(folder)!r}.") from error
    except PermissionError as error:
        raise _forbidden(folder) from error
    for archive in archives:
        if archive.name in present:
            return archive, folder / archive.name
    raise FileNotFoundError(f"The folder {str(folder)!r} should hold {names}. Found neither. {advice}")


def _forbidden(path: Path) -> PermissionError:
    return PermissionError(
        f"CIFAR-10's folder and archive should be readable. Found no permission for {str(path)!r}. Grant it."
    )


def _check(path: Path, archive: Archive) -> None:
    """Compare size and digest, so that what is read is what was published."""
    advice = f"Download it again from {WHERE}."
    try:
        size = path.stat().st_size
        if size < archive.size:
            raise ValueError(f"{archive.name} should have {archive.size:,} bytes. Found {size:,}: it is truncated. {advice}")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError as error:
        raise _forbidden(path) from error
    if found != archive.digest:
        raise ValueError(
            f"{archive.name} should have the SHA-256 digest {archive.digest[:12]}... Found {found[:12]}...: it is damaged or "
            f"another file. {advice}"
        )


def _read(path: Path, archive: Archive) -> list[tuple[Array, Array]]:
    """Return images and labels of the six files, the test file last."""
    read = _from_pickle if archive.members[0].startswith("cifar-10-batches-py/") else _from_binary
    parts: list[tuple[Array, Array]] = []
    try:
        with tarfile.open(path, "r:gz") as tar:
            for member in archive.members:
                file = tar.extractfile(member)
                if file is None:
                    raise KeyError(member)
                parts.append(_checked(*read(file.read()), member))
    except (KeyError, EOFError, tarfile.TarError, zlib.error, pickle.UnpicklingError) as error:
        raise ValueError(
            f"{archive.name} should hold {len(archive.members)} files of images. Found it unreadable: {error}. Download it "
            f"again from {WHERE}."
        ) from error
    return parts


def _checked(x: Array, y: Array, member: str) -> tuple[Array, Array]:
    if x.dtype != np.uint8 or x.shape != (len(y), 3072) or not len(y) or not all(0 <= int(label) < CLASSES for label in y):
        raise ValueError(f"{member} should hold rows of 3072 bytes with labels 0 to 9. Found {x.dtype} of shape {x.shape}.")
    return x.reshape(-1, 3, 32, 32), y


def _from_binary(content: bytes) -> tuple[Array, Array]:
    """One byte of label, then 3072 of pixels: red, green, blue, each row by row."""
    if len(content) % 3073:
        raise EOFError(f"a file of {len(content):,} bytes, which is no multiple of 3073")
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, 3073)
    return records[:, 1:].copy(), records[:, 0].astype(np.int64)


def _from_pickle(content: bytes) -> tuple[Array, Array]:
    batch = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
    if not isinstance(batch, dict) or not {b"data", b"labels"} <= batch.keys():
        raise pickle.UnpicklingError("a batch that is no dictionary with data and labels")
    entries = cast("dict[bytes, Any]", batch)
    return np.asarray(entries[b"data"]), np.asarray(entries[b"labels"], dtype=np.int64)


class _ArraysOnly(pickle.Unpickler):
    """Unpickles plain containers, bytes and numpy arrays; whatever else a pickle asks for is refused before it is made."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:  # noqa: ANN401  # as the base class has it
        known = _KNOWN.get((module_name.partition(".")[0], global_name))
        if known is None:
            raise pickle.UnpicklingError(f"a pickle that asks for {module_name}.{global_name}, which is refused")
        return known


def _latin_1(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes into a pickle that Python 2 can read."""
    return text.encode("latin-1") if encoding in ("latin1", "latin-1") else b""


# Mapped to the objects themselves: where old pickles look for them, numpy 2 warns.
_KNOWN: dict[tuple[str, str], Any] = {
    ("numpy", "_reconstruct"): np._core.multiarray._reconstruct,  # pyright: ignore # what numpy's own pickles name
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _latin_1,
}
