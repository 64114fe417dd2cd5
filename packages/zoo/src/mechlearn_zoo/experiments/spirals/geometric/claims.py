"""What is claimed of the geometric mean under either optimiser; written before any judged run."""

from claimlab import (
    Claim,
    Greatest,
    Measure,
    Measurement,
    OverSeeds,
    Rows,
    at_least,
    bootstrap,
    high_at_most,
    low_above,
    low_at_least,
    number,
)

_SOURCE = "thesis section 3.2.3, limitation (iv)"
_TRIED = "Seed 1000 chose the width and SGD's learning rate, and showed these numbers once."


def _steps(key: str, of: str, path: str = "adam") -> OverSeeds:
    return OverSeeds(key, {"kind": "steps", "optimizer": path, "of": of})


def less(key: str, one: dict[str, str], other: dict[str, str], absolute: bool = False) -> Measure:
    """Return a measure: a number in one kind of row less that in another, seed by seed, median."""

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for group in rows.by("seed").values():
            some, others = group.where(**one), group.where(**other)
            if some and others:
                found.append(number(some[0], key) - number(others[0], key))
        return bootstrap([abs(one) for one in found] if absolute else found) if found else None

    return measure


def _end(optimizer: str, method: str) -> dict[str, str]:
    return {"kind": "final", "optimizer": optimizer, "method": method}


def _of(optimizer: str) -> dict[str, str]:
    return {"kind": "steps", "optimizer": "adam", "of": optimizer}


def _apart(optimizer: str) -> Measure:
    return less("accuracy", _end(optimizer, "geometric"), _end(optimizer, "and-mask"), absolute=True)


_APART = "difference of test accuracies, either way, median over seeds,"

CLAIMS = (
    Claim(
        id="spirals-geometric.finds",
        text="Under Adam the geometric mean, too, finds the spirals behind the shortcuts.",
        source=_SOURCE,
        measure=OverSeeds("accuracy", _end("adam", "geometric")),
        condition=at_least(0.95, of="test accuracy, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="spirals-geometric.same",
        text="Under Adam it ends where the AND-mask does.",
        source=_SOURCE,
        measure=_apart("adam"),
        condition=high_at_most(0.02, of=_APART).instead_of(
            low_at_least(-0.02, of="test accuracy less the AND-mask's, median over seeds,"),
            "It held because the geometric mean was ahead on half of the seeds, which is not where the AND-mask ends.",
            less("accuracy", _end("adam", "geometric"), _end("adam", "and-mask")),
        ),
        tried="Steps are nearly the same along one path, but paths part: at a quarter of the width the AND-mask gets stuck on "
        "half of the seeds on which the geometric mean finds the spirals. At the full width, in `spirals`, it does not.",
    ).also_stopped(Greatest),
    Claim(
        id="spirals-geometric.adam",
        text="Adam ignores the exact magnitude: its steps by the geometric mean are those by the AND-mask.",
        source=_SOURCE,
        measure=_steps("cosine_geometric", "adam"),
        condition=low_at_least(0.95, of="cosine between Adam's steps by either on the AND-mask's path, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="spirals-geometric.zeroed",
        text="Under Adam most of its difference from averaging comes from the components that are set to zero.",
        source=_SOURCE,
        measure=_steps("zeroed", "adam"),
        condition=low_above(0.5, of="share of the squared difference of steps in masked components, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="spirals-geometric.length",
        kind="ours",
        text="What SGD does not ignore is the length: it is there that the geometric mean's steps are shorter.",
        source="ours; the geometric mean never exceeds the arithmetic one, and Adam divides by the size of what it gets",
        measure=less("length_geometric", _of("adam"), _of("sgd")),
        condition=low_above(0.1, of="length over that of the AND-mask's step, under Adam less under SGD, median over seeds,"),
        tried=_TRIED,
    ),
)
