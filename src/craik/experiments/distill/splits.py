"""Whether chapter 4's experiments have examples enough: for a validation part, and a batch out of the rest."""


def check_split(examples: int, validation: float | int, batch: int) -> None:
    """Refuse a validation share that leaves either side empty, and a batch that is longer than what is trained on.

    Raises:
        ValueError: either of them.
    """
    held_out = round(validation * examples)
    if not 0 < held_out < examples:
        raise ValueError(f"validation should leave some of {examples} examples on both sides. Found {validation}.")
    left = examples - held_out
    if not 1 <= batch <= left:
        raise ValueError(f"batch should lie between 1 and the {left} examples that validation leaves. Found {batch}.")
