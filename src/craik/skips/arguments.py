"""What numbers and words of this room may be, each refusal one sentence: the rule, what was found, the way out."""

from collections.abc import Sequence
from numbers import Integral


def check_frames(name: str, value: object) -> None:
    """Refuse what does not count frames from 1 on.

    Raises:
        TypeError: no whole number.
        ValueError: below 1.
    """
    if whole(name, value) < 1:
        raise ValueError(f"`{name}` should be at least 1: a prediction is matched with a later frame. Found {value!r}.")


def whole(name: str, value: object) -> int:
    """Return a number of frames, and refuse what is none."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"`{name}` should be a whole number of frames. Found {value!r}. Pass an int.")
    return int(value)


def check_probability(name: str, value: float) -> None:
    """Refuse what is no probability."""
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"`{name}` should be a probability in [0, 1]. Found {value!r}. Check the schedule that it comes from.")


def check_word(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse another word."""
    if value not in known:
        words = " or ".join(f'"{word}"' for word in known)
        raise ValueError(f"`{name}` should be {words}. Found {value!r}.")
