"""What is claimed of what teachers use."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, high_below, low_above, number

GENERATIONS = 3
LEARNT = 0.05
"""A student has learnt the game where its accuracy is so much above the more frequent answer's share."""


def life_of(rows: Rows, teacher: str) -> list[Rows]:
    """Return each seed's reading of a teacher in the Game of Life."""
    return list(rows.where(world="life", teacher=teacher).by("seed").values())


def in_place(reading: Rows) -> float:
    """Return the share of the oracle's frame, the mean over layers: layer k is served by the board after generation k + 1."""
    return float(np.mean([number(row, "share") for row in reading if row["layer"] == row["frame"]]))


def most_used(reading: Rows) -> float:
    """Return for how many of the layers the frame that is used most is the oracle's, as a share."""
    found: list[bool] = []
    for layer, rows in reading.by("layer").items():
        best = max(rows, key=lambda row: number(row, "share"))
        found.append(best["frame"] == layer)
    return float(np.mean(found))


@dataclass(frozen=True)
class InPlace:
    """A measure for `Claim`: the share of the oracle's frames under a teacher of the Game of Life."""

    teacher: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the mean over seeds, or None where the game was not run."""
        found = [in_place(reading) for reading in life_of(rows, self.teacher)]
        return bootstrap(found, np.mean) if found else None


def where_learnt(rows: Rows) -> Measurement | None:
    """Return for how many layers the most used frame is the oracle's, over the seeds whose student learnt the game."""
    learnt = [r for r in life_of(rows, "trained") if number(r[0], "accuracy") > number(r[0], "majority") + LEARNT]
    return bootstrap([most_used(reading) for reading in learnt], np.mean) if learnt else None


def noise_of(rows: Rows) -> tuple[str, int] | None:
    """Return the name of the data set with noise, and the number of its frames that are noise; None without one."""
    name = next((str(row["data"]) for row in rows if str(row["data"]).startswith("noise-")), None)
    return None if name is None else (name, int(name.removeprefix("noise-")))


def late_shares(rows: Rows, data: str, teacher: str, last: int) -> Sequence[float]:
    """Return each seed's share of the last frames in what a teacher of a body uses, all layers together."""
    found: list[float] = []
    for reading in rows.where(world="body", data=data, teacher=teacher).by("seed").values():
        first = max(int(number(row, "frame")) for row in reading) + 1 - last
        found.append(sum(number(row, "of_all") for row in reading if number(row, "frame") >= first))
    return found


def noise_forgotten(rows: Rows) -> Measurement | None:
    """Return the trained teacher's share of noise over the untrained one's, the median over seeds."""
    noise = noise_of(rows)
    if noise is None:
        return None
    trained, untrained = (late_shares(rows, noise[0], teacher, noise[1]) for teacher in ("trained", "untrained"))
    return bootstrap([after / before for after, before in zip(trained, untrained, strict=True)])


def noise_against_plain(rows: Rows) -> Measurement | None:
    """Return trained teachers' share of the last frames where they are noise minus where they are true, over seeds."""
    noise = noise_of(rows)
    if noise is None:
        return None
    noisy, plain = (late_shares(rows, data, "trained", noise[1]) for data in (noise[0], "plain"))
    return bootstrap([a - b for a, b in zip(noisy, plain, strict=True)])


_TRIED = "Nothing was searched for; one run on seed 1000 followed the claims, and changed nothing."

CLAIMS = (
    Claim(
        id="distill-reading.oracle",
        kind="control",
        text="The reader sees what is there: of the fixed oracle's layers each is read to use the board after its generation.",
        source="thesis appendix C.3 (the oracle)",
        measure=InPlace("oracle"),
        condition=low_above(0.99, of="share of the oracle's frames"),
    ),
    Claim(
        id="distill-reading.life",
        kind="hypothesis",
        text="Training moves a teacher of the Game of Life towards the oracle's order of frames.",
        source="thesis section 4.4.2, figure 4.5; chapter 5, limitations (interpretability)",
        measure=InPlace("trained"),
        condition=low_above(1 / GENERATIONS, of="share of the oracle's frames, which is a third before training,"),
        tried=_TRIED,
    ),
    Claim(
        id="distill-reading.life-learnt",
        kind="hypothesis",
        text="Where the student has learnt the game, its teacher uses for most layers the frame that the oracle uses.",
        source="thesis section 4.4.2; section 4.3.2 (the teacher may omit frames and change their order)",
        measure=where_learnt,
        condition=low_above(0.5, of="share of layers whose most used frame is the oracle's (a third by chance)"),
        tried=_TRIED,
    ),
    Claim(
        id="distill-reading.noise",
        kind="hypothesis",
        text="A teacher learns to leave out frames that are noise.",
        source="thesis section 4.3.2 (it can omit time steps); section 4.4.4, ablation RT",
        measure=noise_forgotten,
        condition=high_below(1, of="share of noise in what is used, after training over before,"),
        tried=_TRIED,
    ),
    Claim(
        id="distill-reading.noise-placebo",
        kind="control",
        text="That is because they are noise: where they are true, a trained teacher uses the same frames more.",
        source="ours: a teacher may leave out late frames whatever they hold",
        measure=noise_against_plain,
        condition=high_below(0, of="share of the last frames where they are noise minus where they are true"),
        tried=_TRIED,
    ),
)
