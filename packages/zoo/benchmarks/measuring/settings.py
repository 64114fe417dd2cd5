"""What a benchmark's settings may be, in sentences: the rule, the value found, the way out."""

from collections.abc import Iterable

from claimlab.errors import suggestion


def check_known(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that nothing has.

    Raises:
        ValueError: one of them is not known.
    """
    names = list(known)
    for name in given:
        if name not in names:
            raise ValueError(f"A {kind} should be one that exists. Found {name!r}. {suggestion(name, names)}")


def check_least(config: object, least: float | int, *names: str) -> None:
    """Refuse settings below what they must be at least.

    Raises:
        ValueError: one of them is.
    """
    for name in names:
        if getattr(config, name) < least:
            raise ValueError(f"{name} should be at least {least}. Found {getattr(config, name)}. Use {least} or more.")
