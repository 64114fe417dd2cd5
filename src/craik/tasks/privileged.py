"""What the worlds of chapter 4 share: examples with privileged data, in three splits."""

from typing import NamedTuple

from craik.distill.examples import Examples


class PrivilegedData(NamedTuple):
    """One dataset.

    Attributes:
        train: what is trained on; a teacher's validation set is split off here (`craik.distill.split_rows`).
        selection: held out, for choosing settings and when to stop; nothing is trained on it.
        test: for reporting.
    """

    train: Examples
    selection: Examples
    test: Examples


def check_sizes(**sizes: int) -> None:
    """Refuse sizes below 1.

    Raises:
        ValueError: a size is below 1.
    """
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"`{name}` should be at least 1. Found {size}.")
