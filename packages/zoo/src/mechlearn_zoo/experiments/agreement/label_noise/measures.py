"""How training on wrong labels is measured, with the settings that clean validation images select; medians over seeds."""

import numpy as np

from claimlab import EachSeed, Measure, Measurement, Row, Rows, bootstrap, number


def selected(rows: Rows, method: str) -> Rows:
    """Return a method's rows of the trial with the best mean final accuracy on validation images, over all seeds.

    Of trials that are level the one with the lower threshold is taken, then the one with the lower learning rate.
    """
    some = rows.where(method=method)
    trials = {(number(row, "threshold"), number(row, "learning_rate")) for row in some}
    chosen = [some.where(threshold=threshold, learning_rate=rate) for threshold, rate in sorted(trials)]
    return max(chosen, key=lambda group: np.mean(group.where(kind="final")["validation_accuracy"]), default=Rows())


def of(method: str, measure: Measure) -> Measure:
    """Return a measure of a method's selected trial alone."""
    return lambda rows: measure(selected(rows, method))


def decline(rows: Rows) -> float:
    """Return by how much one trial's test accuracy at the end lies below its peak while training, of one seed."""
    (end,) = rows.where(kind="final")["test_accuracy"]
    return max(rows["test_accuracy"]) - end


def rise(rows: Rows) -> float | None:
    """Return one trial's test accuracy at the end less that at the last look in the first third of the epochs, of one seed."""
    (end,) = rows.where(kind="final")
    early = rows.where(lambda row: number(row, "epoch") <= number(end, "epoch") / 3, kind="curve")
    last = max(early, key=lambda row: number(row, "epoch"), default=None)
    return number(end, "test_accuracy") - number(last, "test_accuracy") if last else None


def stopped_early(rows: Rows) -> dict[float, float]:
    """Return, for each seed, averaging's test accuracy at the epoch that is best on clean validation images.

    Its learning rate is the one that is best so, in the mean over seeds; a tie goes to the lower rate and the earlier epoch.
    """

    def at_best(some: Rows) -> Row:
        return max(some, key=lambda row: number(row, "validation_accuracy"))

    trials = rows.where(method="mean").by("learning_rate").values()
    ends = [{number(group[0], "seed"): at_best(group) for group in some.by("seed").values()} for some in trials]
    best = max(ends, key=lambda some: np.mean([number(row, "validation_accuracy") for row in some.values()]), default={})
    return {seed: number(row, "test_accuracy") for seed, row in best.items()}


def _ends(rows: Rows, method: str) -> dict[float, float]:
    return {number(row, "seed"): number(row, "test_accuracy") for row in selected(rows, method).where(kind="final")}


def over_early_stopping(rows: Rows) -> Measurement | None:
    """Return the AND-mask's final test accuracy less that of averaging where it is stopped early, by seed."""
    ours, theirs = _ends(rows, "and-mask"), stopped_early(rows)
    found = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    return bootstrap(found) if found else None


def apart(rows: Rows) -> Measurement | None:
    """Return the distance of the geometric mean's test accuracy at the end from the AND-mask's, either way, by seed."""
    ours, theirs = _ends(rows, "geometric"), _ends(rows, "and-mask")
    found = [abs(ours[seed] - theirs[seed]) for seed in ours if seed in theirs]
    return bootstrap(found) if found else None


def chosen(method: str, key: str) -> Measure:
    """Return a measure: a setting of the trial that each seed selects by itself; None where there was one trial only.

    A tie goes as in `selected`.
    """

    def best(rows: Rows) -> float | None:
        ends = sorted(rows.where(kind="final"), key=lambda row: (number(row, "threshold"), number(row, "learning_rate")))
        found = max(ends, key=lambda row: number(row, "validation_accuracy"), default=None)
        return number(found, key) if found else None

    def measured(rows: Rows) -> Measurement | None:
        some = rows.where(method=method)
        one_trial = len({(row["threshold"], row["learning_rate"]) for row in some}) == 1
        return None if one_trial else EachSeed(best, np.median)(some)

    return measured


def end(method: str) -> dict[str, str]:
    """Return what a final row of single examples has where some labels are wrong."""
    return {"kind": "final", "board": "wrong labels", "method": method}
