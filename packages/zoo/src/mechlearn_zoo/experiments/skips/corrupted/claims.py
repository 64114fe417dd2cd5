"""What is claimed of corrupted episodes, and how it is measured: differences within a seed."""

import numpy as np

from claimlab import Claim, Condition, Least, Measure, Measurement, Rows, bootstrap, low_above, number, where_stopped

Table = dict[tuple[str, str], dict[float, float]]
"""Accuracy by seed, for each corruption and method."""


def accuracies(rows: Rows) -> Table:
    """Return accuracy by corruption and method, then by seed."""
    found: Table = {}
    for row in rows:
        found.setdefault((str(row["corruption"]), str(row["method"])), {})[number(row, "seed")] = number(row, "accuracy")
    return found


def best_fixed(table: Table, corruption: str) -> str | None:
    """Return the fixed step that is most accurate in the median over seeds, the shortest of equals."""
    steps = sorted(method for name, method in table if name == corruption and method.startswith("fixed"))
    return max(steps, key=lambda method: float(np.median(list(table[corruption, method].values()))), default=None)


def _differences(table: Table, ours: tuple[str, str], theirs: tuple[str, str]) -> dict[float, float]:
    one, other = table.get(ours, {}), table.get(theirs, {})
    return {seed: one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())}


def _measured(differences: dict[float, float]) -> Measurement | None:
    return bootstrap(list(differences.values())) if differences else None


def _ahead(corruption: str) -> Measure:
    """ASI's accuracy less that of the fixed step that is best under the same corruption."""

    def measure(rows: Rows) -> Measurement | None:
        table = accuracies(rows)
        best = best_fixed(table, corruption)
        return None if best is None else _measured(_differences(table, (corruption, "asi"), (corruption, best)))

    return measure


def _if_something_is_lost(corruption: str, measure: Measure) -> Measure:
    """None where the fixed step loses nothing at its end, in the median, which nobody can lose less of."""

    def measured(rows: Rows) -> Measurement | None:
        table = accuracies(rows)
        best = best_fixed(table, "clean")
        lost = _measured(_differences(table, ("clean", best), (corruption, best))) if best else None
        return measure(rows) if lost and lost.value > 0 else None

    return measured


def _loses_less(corruption: str) -> Measure:
    """What the fixed step that is best on clean episodes loses by the corruption, less what ASI loses by it."""

    def measure(rows: Rows) -> Measurement | None:
        table = accuracies(rows)
        best = best_fixed(table, "clean")
        if best is None:
            return None
        lost = [_differences(table, ("clean", method), (corruption, method)) for method in (best, "asi")]
        return _measured({seed: lost[0][seed] - lost[1][seed] for seed in sorted(lost[0].keys() & lost[1].keys())})

    return measure


_AHEAD = low_above(0, of="test accuracy of ASI less that of the fixed step that is best under it, median over seeds,")


def _robust(corruption: str) -> Condition:
    """With what was asked before."""
    return low_above(
        0,
        of="accuracy lost by the fixed step that is best on clean episodes, if it loses any, less that lost by ASI, median "
        "over seeds,",
    ).instead_of(
        low_above(
            0, of="accuracy lost by the fixed step that is best on clean episodes, less that lost by ASI, median over seeds,"
        ),
        "Where half of the frames are missing both end higher than on clean episodes, steps of 6 at 0.91 for 0.86 and ASI at "
        "0.92 for 0.80: who begins lower gains more below a common ceiling.",
        _loses_less(corruption),
    )


_SOURCE = "thesis chapter 2, introduction, behind figure 2.1"
_TRIED = "Board, place codes, budget and learning rate come from a prototype on other seeds; see the experiment's README."

CLAIMS = (
    Claim(
        id="skips-corrupted.clean",
        text="Without corruption ASI shows the right outcome more often than every fixed step.",
        source="thesis section 2.3.3",
        measure=_ahead("clean"),
        condition=_AHEAD,
        tried=_TRIED,
    ).also_stopped(Least),
    Claim(
        id="skips-corrupted.missing-ahead",
        text="Where half of the frames are missing, ASI shows the right outcome more often than every fixed step.",
        source=_SOURCE,
        kind="hypothesis",
        measure=_ahead("missing-50"),
        condition=_AHEAD,
        tried=_TRIED,
    ).also_stopped(Least),
    Claim(
        id="skips-corrupted.noise",
        text="ASI is more robust than a fixed step where half of the frames are noise.",
        source=_SOURCE,
        kind="hypothesis",
        measure=_if_something_is_lost("noise-50", _loses_less("noise-50")),
        condition=_robust("noise-50"),
        tried=_TRIED,
    ).also_stopped(Least, where_stopped(_loses_less("noise-50"))),
    Claim(
        id="skips-corrupted.noise-ahead",
        text="Where half of the frames are noise, which a fixed step is forced to model, ASI shows the right outcome more "
        "often than every fixed step.",
        source=_SOURCE,
        kind="hypothesis",
        measure=_ahead("noise-50"),
        condition=_AHEAD,
        tried=_TRIED,
    ).also_stopped(Least),
    Claim(
        id="skips-corrupted.speed",
        text="ASI is more robust than a fixed step where training episodes are played at half to twice their speed.",
        source=_SOURCE,
        kind="hypothesis",
        measure=_if_something_is_lost("speed", _loses_less("speed")),
        condition=_robust("speed"),
        tried=_TRIED,
    ).also_stopped(Least, where_stopped(_loses_less("speed"))),
    Claim(
        id="skips-corrupted.speed-ahead",
        text="Where training episodes are played at half to twice their speed, ASI shows the right outcome more often than "
        "every fixed step.",
        source=_SOURCE,
        kind="hypothesis",
        measure=_ahead("speed"),
        condition=_AHEAD,
        tried=_TRIED,
    ).also_stopped(Least),
)
