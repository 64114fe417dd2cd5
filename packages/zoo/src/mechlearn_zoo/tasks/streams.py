"""Streams of random numbers that are apart, though they come of one seed."""

import hashlib

from torch import Generator

from mechlearn.arguments import check_seed


def stream(seed: int, *names: str | int) -> Generator:
    """Return a generator of the CPU whose numbers have nothing to do with those of other names, or of the seed itself.

    Two generators with one seed give the same numbers, whatever they are used for: data drawn with `manual_seed(0)` and
    weights drawn with `manual_seed(0)` are not independent (a network's first row may equal the vector that its data hide).
    Nor does a large offset part them: torch's generators of the CPU keep the low 32 bits of a seed, so that `seed + 2**32` is
    `seed` again. Here seed and names are hashed to 32 bits, SHA-256's first.

    >>> stream(0, "weights").initial_seed() != stream(0, "batches").initial_seed()
    True

    Args:
        seed: a whole number of at least 0, however large.
        names: what the numbers are for, such as "student", or "member", 3.

    Raises:
        TypeError: a seed that is no whole number.
        ValueError: a negative one.
    """
    check_seed(seed)
    digest = hashlib.sha256("\0".join(map(str, (seed, *names))).encode()).digest()
    return Generator().manual_seed(int.from_bytes(digest[:4], "big"))


def same_stream(seed: int) -> Generator:
    """Return a generator whose numbers are those of every other `same_stream(seed)` and of `Generator().manual_seed(seed)`.

    What draws from it is not independent of what else draws from the seed. Records that are too long to be made anew keep it;
    whatever is written now calls `stream`.

    Args:
        seed: a whole number of at least 0.
    """
    check_seed(seed)
    return Generator().manual_seed(seed)
