"""Measures of the claims of adaptive skip intervals against fixed steps: medians over seeds."""

from collections.abc import Callable, Sequence

import numpy as np

from claimlab import EachSeed, Measure, Measurement, Paired, Rows, Scalar, bootstrap, where_stopped
from mechlearn_zoo.experiments.skips.comparing.outcomes import LABELS, LEARNT

Compare = Callable[[Rows, str, str], Measurement | None]
"""From rows and two methods to the difference of the first to the second."""

FIXED = ("fixed-1", "fixed-2", "fixed-3")
"""Fixed steps that the texts compare with."""

FAR = ("fixed-4", "fixed-8", "fixed-16", "direct")
"""Longer ones, which the texts' figures leave out, and the last frame at once, which needs no world model."""

OTHERS = tuple(method for method in LABELS if method != "asi")
"""All that ASI with exploration is compared with; a run has some of them."""

BOARD: dict[str, Scalar] = {"task": "funnel-board"}
ROOM: dict[str, Scalar] = {"task": "room-runner"}
EVALUATIONS, EPOCHS = BOARD | {"unit": "evaluations"}, BOARD | {"unit": "episodes"}
ROOM_EVALUATIONS, ROOM_EPOCHS = ROOM | {"unit": "evaluations"}, ROOM | {"unit": "episodes"}
"""Rows of one world, and those whose methods spend as many evaluations, or epochs."""

LEVEL = 0.5
"""Validation accuracy of which the time to it is measured: half of what an outcome that is always right has."""

VALIDATION = "validation_accuracy"


def on(where: dict[str, Scalar], measure: Measure) -> Measure:
    """Return a measure of some rows alone."""
    return lambda rows: measure(rows.where(**where))


def lead(
    compare: Compare, others: Sequence[str], where: dict[str, Scalar], method: str = "asi", every: bool = False
) -> Measure:
    """Return the measure of a method's difference to the closest of others: the one to which the interval reaches lowest.

    Those that were not run do not count, or, with ``every``, make it None.
    """

    def measure(rows: Rows) -> Measurement | None:
        found = [compare(rows.where(**where), method, other) for other in others]
        known = [one for one in found if one is not None]
        return None if every and len(known) < len(found) else min(known, key=lambda one: one.low, default=None)

    return measure


def over_learned(compare: Compare) -> Compare:
    """Return a comparison; None where the other method, in the median, has learned nothing at all at its end."""

    def compared(rows: Rows, method: str, over: str) -> Measurement | None:
        theirs = rows.where(kind="final", method=over)
        return compare(rows, method, over) if theirs and np.median(theirs["test_accuracy"]) >= LEARNT else None

    return compared


def advantage(rows: Rows, method: str, over: str) -> Measurement | None:
    """Return the difference of two methods' final accuracies on test episodes."""
    return Paired("test_accuracy", {"kind": "final", "method": method}, {"kind": "final", "method": over})(rows)


def stopped_advantage(rows: Rows, method: str, over: str) -> Measurement | None:
    """Return the difference of two methods' accuracies where validation stops each.

    On test episodes; of rows without looks at those on the episodes that select, at each one's best check.
    """
    looked = where_stopped(lambda some: advantage(some, method, over))(rows)
    return highest_advantage(rows, method, over) if looked is None else looked


def highest_advantage(rows: Rows, method: str, over: str) -> Measurement | None:
    """Return the difference of two methods' highest accuracies on validation episodes while training."""
    return _of_curves(rows, method, over, lambda ours, theirs: max(ours[VALIDATION]) - max(theirs[VALIDATION]))


def advantage_per_epoch(rows: Rows, method: str, over: str) -> Measurement | None:
    """Return the difference of accuracies on validation episodes at the last epoch that both have reached."""

    def at_the_last(ours: Rows, theirs: Rows) -> float:
        epoch = min(max(ours["epochs"]), max(theirs["epochs"]))
        one, other = (np.interp(epoch, some["epochs"], some[VALIDATION]) for some in (ours, theirs))
        return float(one - other)

    return _of_curves(rows, method, over, at_the_last)


def _of_curves(rows: Rows, method: str, over: str, number: Callable[[Rows, Rows], float]) -> Measurement | None:
    def of_seed(seed: Rows) -> float | None:
        ours, theirs = (seed.where(kind="curve", method=name) for name in (method, over))
        return number(ours, theirs) if ours and theirs else None

    return EachSeed(of_seed, np.median)(rows)


def cost(method: str, over: Sequence[str] = FIXED, late: bool = True) -> EachSeed:
    """Return the measure of a method's model evaluations an epoch as a share of those of the cheapest of others.

    They are those between the last two checks, when hardly anything is explored, or with ``late`` false those of all epochs.
    """

    def an_epoch(curve: Rows) -> float | None:
        if len(curve) < 1 + late:
            return None
        (spent, epochs), start = (curve[key] for key in ("evaluations", "epochs")), -2
        return (spent[-1] - spent[start]) / (epochs[-1] - epochs[start]) if late else spent[-1] / epochs[-1]

    def share(rows: Rows) -> float | None:
        ours, *theirs = [an_epoch(rows.where(kind="curve", method=name)) for name in (method, *over)]
        known = [one for one in theirs if one is not None]
        return None if ours is None or len(known) < len(theirs) else ours / min(known)

    return EachSeed(share, np.median)


def fall(seed: Rows, method: str) -> float | None:
    """Return by how much validation accuracy ends below its highest value, of one seed; None if it never reached `LEARNT`."""
    curve = seed.where(kind="curve", method=method)[VALIDATION]
    return max(curve) - curve[-1] if max(curve, default=0) >= LEARNT else None


def largest_fall(rows: Rows) -> Measurement | None:
    """Return the median fall from the highest accuracy of the step that falls most, of those that learned on every seed."""
    falls = [[fall(seed, dt) for seed in rows.by("seed").values()] for dt in FIXED]
    learned = [bootstrap([one for one in found if one is not None]) for found in falls if found and None not in found]
    return max(learned, key=lambda one: one.value, default=None)


def resilience(seed: Rows) -> float | None:
    """Return by how much more fixed steps that have learned fall, in their mean, than ASI does, of one seed."""
    ours, theirs = fall(seed, "asi"), [one for dt in FIXED if (one := fall(seed, dt)) is not None]
    return None if ours is None or not theirs else float(np.mean(theirs)) - ours


def evaluations_to_level(curve: Rows) -> float:
    """Return the model evaluations after which a curve of one seed first reaches `LEVEL`, between checks; infinite if never."""
    spent, accuracy = (np.array([0.0, *curve[key]]) for key in ("evaluations", VALIDATION))
    reached = np.flatnonzero(accuracy >= LEVEL)
    if not len(reached):
        return float("inf")
    after, before = reached[0], reached[0] - 1
    share = (LEVEL - accuracy[before]) / (accuracy[after] - accuracy[before])
    return float(spent[before] + share * (spent[after] - spent[before]))


def sooner(rows: Rows) -> Measurement | None:
    """Return ASI's model evaluations to `LEVEL` as a share of those of the fixed step that is there first; median over seeds.

    Where no fixed step gets there, theirs count as the most that one of them spent, which is too few; where ASI does not, the
    share counts as 1. None where neither does on some seed.
    """
    shares: list[float] = []
    for seed in rows.where(kind="curve").by("seed").values():
        ours, *theirs = [seed.where(method=method) for method in ("asi", *FIXED)]
        theirs = [some for some in theirs if some]
        if not ours or not theirs:
            return None
        own, first = evaluations_to_level(ours), min(map(evaluations_to_level, theirs))
        if own == first == float("inf"):
            return None
        most = max(max(some["evaluations"]) for some in theirs)
        shares.append(1.0 if own == float("inf") else own / min(first, most))
    return bootstrap(shares) if shares else None
