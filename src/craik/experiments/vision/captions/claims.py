"""What is claimed of captions; written before any recorded run. `[P]`: printed, from memory, not checked."""

from collections.abc import Callable

import numpy as np

from craik.lab import Claim, Measurement, Rows, bootstrap, high_below, low_above, number

_SOURCE = "Xu et al. 2018, on captioned digits"


def less(kind: str, key: str, one: dict[str, object], other: dict[str, object]) -> Callable[[Rows], Measurement | None]:
    """Return a measure: a number of one row less that of another, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for group in rows.by("seed").values():
            pair = [[row for row in group.where(kind=kind) if values.items() <= row.items()] for values in (one, other)]
            if all(pair):
                found.append(number(pair[0][0], key) - number(pair[1][0], key))
        return bootstrap(found, np.mean) if found else None

    return measure


def pointing(key: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: attention of colour and digit words in a box over its area, mean over words and seeds."""

    def measure(rows: Rows) -> Measurement | None:
        groups = rows.where(kind="pointing", method="words").by("seed").values()
        found = [float(np.mean(group[key])) for group in groups]
        return bootstrap(found, np.mean) if found else None

    return measure


CLAIMS = (
    Claim(
        id="captions.retrieval",
        text="Words find a picture's caption more often than sentences do.",
        source=_SOURCE,
        printed="R-precision 67.8 % of the GAN's birds [P]: another quantity",
        measure=less("retrieval", "right", {"method": "words"}, {"method": "sentence"}),
        condition=low_above(0.0, of="R-precision among 100 captions, words less sentences, mean over seeds,"),
        tried="On seed 1000, before the record: without multiplied words, at half as many steps of three times the "
        "pictures, words found captions less often than sentences; with them as often.",
    ),
    Claim(
        id="captions.words-point",
        text="A word of colour or name looks at the digit that it is about.",
        source=_SOURCE,
        measure=pointing("own"),
        condition=low_above(2.0, of="attention inside the digit's box over the box's share of the area, mean over seeds,"),
    ),
    Claim(
        id="captions.words-point-elsewhere",
        text="It does not look at the other digit.",
        source="ours",
        measure=pointing("other"),
        condition=high_below(1.0, of="attention inside the other digit's box over its share of the area, mean over seeds,"),
        kind="control",
    ),
    Claim(
        id="captions.attention-helps",
        text="A generator whose second stage attends to words makes pictures that fit their captions better.",
        source="Xu et al. 2018, table 2",
        measure=less("painted", "right", {"attention": True}, {"attention": False}),
        condition=low_above(0.0, of="R-precision of made pictures, with attention less without, mean over seeds,").at("paper"),
    ),
)
