"""What is claimed of the audit's scores; written before any judged run."""

import numpy as np

from claimlab import Claim, Measure, Measurement, Rows, at_least, at_most, bootstrap, high_at_most, low_above
from mechlearn_zoo.experiments.own_data.columns.run import MARGINAL
from mechlearn_zoo.experiments.own_data.measures import SOURCE, TWENTY


def area(score: str, boards: tuple[str, ...]) -> Measure:
    """Return a measure: the area under a score's curve on the board where it is least, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = [rows.where(kind="auroc", board=board, score=score)["auroc"] for board in boards]
        worst = min((values for values in found if values), key=lambda values: float(np.mean(values)), default=None)
        return None if worst is None else bootstrap(worst, np.mean)

    return measure


def ahead(score: str, other: str, board: str) -> Measure:
    """Return a measure: a score's area less another's, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        one, two = (rows.where(kind="auroc", board=board, score=name)["auroc"] for name in (score, other))
        return bootstrap(np.subtract(one, two), np.mean) if one else None

    return measure


def flagged(way: str, what: str) -> Measure:
    """Return a measure: the share of columns that a flag marks, mean over the marginal boards and seeds."""

    def measure(rows: Rows) -> Measurement | None:
        groups = rows.where(kind="flags", way=way).where(lambda row: row["board"] in MARGINAL).by("seed").values()
        found = [float(np.mean(group[what])) for group in groups]
        return bootstrap(found, np.mean) if found else None

    return measure


CLAIMS = (
    Claim(
        id="own-data-columns.audit",
        text="Cancelled gradient mass ranks planted columns above sound ones on every board where they say something alone.",
        source=SOURCE,
        measure=area("cancelled mass", MARGINAL),
        condition=at_least(0.95, of="AUROC on the board whose mean over seeds is least,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-columns.interactions",
        text="On interactions it is above Cochran's Q of the correlations, which cannot see them.",
        source=SOURCE,
        measure=ahead("cancelled mass", "Cochran's Q", "interactions"),
        condition=low_above(0.0, of="AUROC over Q's, mean over seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-columns.blind",
        text="It is blind to a tag that all sites share.",
        source=f"{SOURCE}; a claim against us",
        measure=area("cancelled mass", ("shared",)),
        condition=high_at_most(0.5, of="AUROC, mean over seeds,"),
        kind="control",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-columns.found",
        text="The audit's flag finds nine of ten planted columns.",
        source=SOURCE,
        measure=flagged("gradients", "found"),
        condition=at_least(0.9, of="share of planted columns flagged, mean over marginal boards and seeds,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-columns.sound",
        text="It flags at most one in twenty sound ones, on average over boards.",
        source=SOURCE,
        measure=flagged("gradients", "sound"),
        condition=at_most(0.05, of="share of sound columns flagged, mean over marginal boards and seeds,"),
        kind="ours",
        tried=f"{TWENTY} A mean over four boards: none of the sound columns of codes, 1.1 % on wards and with a tag, but 8.6 % "
        "on "
        "writers, who differ in all.",
    ),
)
