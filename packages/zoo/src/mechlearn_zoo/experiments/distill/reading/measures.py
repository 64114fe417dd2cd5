"""What is measured of what teachers use."""

import numpy as np

from claimlab import EachSeed, Rows, number

LEARNT = 0.05
"""A student has learnt the game where its accuracy is so much above the more frequent answer's share."""


def oracles_frames(teacher: str) -> EachSeed:
    """Return a measure: the share of the oracle's frames under a teacher of the Game of Life, mean over layers and seeds.

    Layer k is served by the board after generation k + 1.
    """

    def share(rows: Rows) -> float | None:
        found = rows.where(lambda row: row["layer"] == row["frame"], world="life", teacher=teacher)["share"]
        return float(np.mean(found)) if found else None

    return EachSeed(share)


def where_learnt(rows: Rows) -> float | None:
    """Return for which share of layers one seed's most used frame is the oracle's, if its student learnt the game."""
    reading = rows.where(world="life", teacher="trained")
    if not reading or number(reading[0], "accuracy") <= number(reading[0], "majority") + LEARNT:
        return None
    most = {layer: max(some, key=lambda row: number(row, "share")) for layer, some in reading.by("layer").items()}
    return float(np.mean([row["frame"] == layer for layer, row in most.items()]))


def noise_of(rows: Rows) -> tuple[str, int] | None:
    """Return the name of the data set with noise, and the number of its frames that are noise; None without one."""
    name = next((str(row["data"]) for row in rows if str(row["data"]).startswith("noise-")), None)
    return None if name is None else (name, int(name.removeprefix("noise-")))


def late_share(rows: Rows, data: str, teacher: str, last: int) -> float:
    """Return one seed's share of the last frames in what a teacher of a body uses, all layers together."""
    reading = rows.where(world="body", data=data, teacher=teacher)
    first = max(reading["frame"]) + 1 - last
    return sum(reading.where(lambda row: number(row, "frame") >= first)["of_all"])


def noise_forgotten(rows: Rows) -> float | None:
    """Return one seed's share of noise in what the trained teacher uses over that of the untrained one."""
    noise = noise_of(rows)
    if noise is None:
        return None
    after, before = (late_share(rows, noise[0], teacher, noise[1]) for teacher in ("trained", "untrained"))
    return after / before


def noise_against_plain(rows: Rows) -> float | None:
    """Return one seed's share of the last frames under trained teachers, where they are noise minus where they are true."""
    noise = noise_of(rows)
    if noise is None:
        return None
    noisy, plain = (late_share(rows, data, "trained", noise[1]) for data in (noise[0], "plain"))
    return noisy - plain
