"""How captions are measured: where words look, and whose pictures are found."""

import numpy as np

from claimlab import EachSeed, Rows


def pointing(key: str, *words: str) -> EachSeed:
    """Return a measure: attention of words inside a digit's box over the box's share of the area, mean over them and seeds.

    Args:
        key: "own" of the digit that the words are about, "other" of the other one.
        *words: kinds of words, "colour" or "digit".
    """

    def attention(rows: Rows) -> float | None:
        found = rows.where(lambda row: row.get("word") in words, kind="pointing", method="words")[key]
        return float(np.mean(found)) if found else None

    return EachSeed(attention)


def lower(rows: Rows) -> float | None:
    """Return the R-precision of pictures that generators make, the lower of both."""
    found = rows.where(kind="painted")["right"]
    return min(found) if len(found) > 1 else None


def fitting(rows: Rows) -> float | None:
    """Return the R-precision of pictures made with attention, the lower by the generator's encoders and by unseen ones."""
    found = rows.where(kind="painted", attention=True)
    return min(found["right"][0], found["right_unseen"][0]) if found else None
