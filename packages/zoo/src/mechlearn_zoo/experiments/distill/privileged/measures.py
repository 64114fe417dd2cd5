"""What the claims of a second loss measure: points of test accuracy over labels alone, mean over seeds."""

from collections.abc import Sequence

import numpy as np

from claimlab import Measure, Measurement, Row, Rows, bootstrap, number

LABEL = "label"
TRUE, SHUFFLED = "true", "shuffled"
WORLDS = ("A", "B")
EVERYWHERE = (("A", TRUE), ("B", TRUE), ("A", SHUFFLED), ("B", SHUFFLED))
WEIGHTS = ("0.1", "0.3", "1")
TUNED = ("mix 0.03", "mix 0.1", "mix 0.3")
DISTILLED = ("distill reverse", "distill forward", "distill teacher's samples")
UPDATES = 150


def one(rows: Rows, cell: str, arm: str, context: str = TRUE, updates: int | None = UPDATES) -> Row | None:
    """Return one seed's row of an arm; labels alone read no context."""
    words = {"cell": cell, "arm": arm} | ({"context": TRUE if arm == LABEL else context} if cell in WORLDS else {})
    found = rows.where(kind="score", **words, **({} if updates is None else {"updates": updates}))
    return found[0] if found else None


def score(rows: Rows, cell: str, arms: Sequence[str], context: str = TRUE) -> float | None:
    """Return one seed's test accuracy of the arm with the best held-out accuracy, the first of several."""
    found = [one(rows, cell, arm, context) for arm in arms]
    known = [row for row in found if row is not None]
    return number(max(known, key=lambda row: number(row, "held_out")), "test") if len(known) == len(arms) else None


def differences(rows: Rows, cell: str, arms: Sequence[str], over: Sequence[str] = (LABEL,), context: str = TRUE) -> list[float]:
    """Return for each seed the points of chosen arms over other chosen ones."""
    pairs = [(score(group, cell, arms, context), score(group, cell, over, context)) for group in rows.by("seed").values()]
    return [first - second for first, second in pairs if first is not None and second is not None]


def gain(cell: str, arms: Sequence[str], over: Sequence[str] = (LABEL,), context: str = TRUE, level: float = 0.95) -> Measure:
    """Return a measure: `differences`, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = differences(rows, cell, arms, over, context)
        return bootstrap(found, np.mean, level) if found else None

    return measure


def least(measures: Sequence[Measure]) -> Measure:
    """Return a measure: the least of several, with the interval of that one."""
    return lambda rows: min(_known(measures, rows), key=lambda found: found.value, default=None)


def most(measures: Sequence[Measure]) -> Measure:
    """Return a measure: the largest of several, with the interval of that one."""
    return lambda rows: max(_known(measures, rows), key=lambda found: found.value, default=None)


def _known(measures: Sequence[Measure], rows: Rows) -> list[Measurement]:
    found = [measure(rows) for measure in measures]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []


failure = most([gain(world, [arm]) for world in WORLDS for arm in DISTILLED])
"""Distillation alone where it loses least."""


def cliff(rows: Rows) -> Measurement | None:
    """Return at the best weight the smaller of mixing's loss beyond 5 points, and of what and-add gains, in world A."""
    found: list[Measurement] = []
    for weight in WEIGHTS:
        mix, add = (gain("A", [f"{form} {weight}"])(rows) for form in ("mix", "and-add"))
        if mix is None or add is None:
            return None
        lost = Measurement(-5 - mix.value, -5 - mix.high, -5 - mix.low, mix.n)
        found.append(min(lost, add, key=lambda one: one.value))
    return max(found, key=lambda one: one.value)


def plateau(rows: Rows) -> Measurement | None:
    """Return and-add's least mean gain over weights and worlds, and the least end of all 90 % intervals."""
    measures = [gain(world, [f"and-add {weight}"], level=0.9) for world in WORLDS for weight in WEIGHTS]
    found = _known(measures, rows)
    if not found:
        return None
    first = min(found, key=lambda one: one.value)
    return Measurement(first.value, min(one.low for one in found), first.high, first.n)


mask = least([gain(world, ["and-add 1"], ["half 1"]) for world in WORLDS])
"""Agreement in sign against a random half of the components, in the world where that gains less."""
fork = least([gain(world, [LABEL, "and-add 0.3"], context=context) for world, context in EVERYWHERE])
"""A held-out choice between labels alone and and-add, where it is worst."""
alone = least([gain(world, [f"and-add {w}"], context=SHUFFLED) for world in WORLDS for w in WEIGHTS[1:]])
"""And-add with worthless contexts, where it is worst."""


def compute(rows: Rows) -> Measurement | None:
    """Return the fork's points over labels alone for 2.6 times as many updates, in the world where they are fewer."""

    def measure(world: str) -> list[float]:
        found: list[float] = []
        for group in rows.by("seed").values():
            longer = max(group.where(kind="score", cell=world, arm=LABEL), key=lambda row: number(row, "updates"), default=None)
            chosen = score(group, world, [LABEL, "and-add 0.3"])
            if longer is not None and chosen is not None:
                found.append(chosen - number(longer, "test"))
        return found

    both = [measure(world) for world in WORLDS]
    return min((bootstrap(one, np.mean) for one in both), key=lambda one: one.value) if all(both) else None


def rival(rows: Rows) -> Measurement | None:
    """Return the fork with and-add less the fork with mixing at a tuned weight, mean over worlds and contexts."""
    found = [differences(rows, cell, [LABEL, "and-add 0.3"], [LABEL, *TUNED], context) for cell, context in EVERYWHERE]
    return bootstrap(np.mean(found, 0), np.mean) if all(found) else None


harmless = least([gain(second, ["and-add 0.3"]) for second in ("useless", "harmful")])
"""And-add with a useless or a harmful second label, where it is worse."""
useful = gain("helpful", ["mix 1"])
"""Mixing with a helpful second label."""
harmful = gain("harmful", ["and-add 1"], ["mix 1"])
"""And-add over mixing with a harmful second label."""


def share(rows: Rows) -> Measurement | None:
    """Return and-add's gain less half of mixing's, with a helpful second label and the weight 1."""
    ours, theirs = (differences(rows, "helpful", [f"{form} 1"]) for form in ("and-add", "mix"))
    return bootstrap(np.array(ours) - np.array(theirs) / 2, np.mean) if ours and theirs else None


def errors(rows: Rows, form: str) -> list[float]:
    """Return each seed's test error on Swimmer, with the weight and the batch size that had the least held-out error.

    Args:
        rows: of any cells.
        form: "mix" for all of its weights, "mix 2" for one.
    """
    found = (group.where(kind="score", cell="Swimmer") for group in rows.by("seed").values())
    kept = ([row for row in group if form in (row["arm"], str(row["arm"]).split()[0])] for group in found)
    return [number(min(some, key=lambda row: number(row, "selection")), "selected") for some in kept if some]


def relative(form: str, over: str) -> Measure:
    """Return a measure: the tuned test error of one form over that of another, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        above, below = errors(rows, form), errors(rows, over)
        return bootstrap(np.array(above) / np.array(below), np.median) if above and below else None

    return measure


auxiliary = relative("mix", "label")
"""A tuned auxiliary head on Swimmer against labels alone."""
anchored = relative("and-add", "mix")
"""Adding by sign against a tuned auxiliary head on Swimmer."""
anchored_alone = relative("and-add", "label")
"""Adding by sign against labels alone on Swimmer."""
