"""What is claimed of transferred attacks; written before any recorded run.

That defences may stop early was asked afterwards, see each claim's earlier condition.
"""

from collections.abc import Callable

import numpy as np

from claimlab import EARLY_STOPPING, Claim, Condition, EachSeed, Least, Rows, above, at_least, at_most, low_above

_PAPER = "Demontis et al. 2019, section 4.1"
_OURS = "ours; issue 'language and robustness audits'"
FIRST = ("8-9", "2")
"""The pair and norm that claims are read at."""


def _first(rows: Rows) -> Rows:
    return rows.where(lambda row: row.get("pair") == FIRST[0] and row.get("norm", FIRST[1]) == FIRST[1])


def over_seeds(number: Callable[[Rows], float | None]) -> EachSeed:
    """Return a measure: the mean over seeds of a number of each seed's rows, of those seeds that have one."""
    return EachSeed(lambda rows: number(_first(rows)))


def correlation(alignment: str, ratio: str) -> Callable[[Rows], float | None]:
    """Return Pearson's correlation over all pairs of surrogate and target, both 90 % accurate."""

    def number(rows: Rows) -> float | None:
        pairs = rows.where(kind="pair").where(lambda row: float(row["accurate"] or 0) >= 0.9)
        return float(np.corrcoef(pairs[alignment], pairs[ratio])[0, 1]) if len(pairs) > 2 else None

    return number


def regularised_targets(family: str) -> Callable[[Rows], float | None]:
    """Return the error under its own attack above the clean one, the complex target's less the simple one's."""

    def number(rows: Rows) -> float | None:
        models = rows.where(kind="model", family=family)
        if not len(models) or min(models["accuracy"]) < 0.9:
            return None
        costs = {c: models.where(complexity=c) for c in "HL"}
        above_clean = {c: one["white_box"][0] - (1 - one["accuracy"][0]) for c, one in costs.items()}
        return above_clean["H"] - above_clean["L"]

    return number


def regularised_surrogates(family: str) -> Callable[[Rows], float | None]:
    """Return the mean transfer error of the simple surrogate of a family less that of the complex one."""

    def number(rows: Rows) -> float | None:
        pairs = rows.where(kind="pair", surrogate=family)
        models = rows.where(kind="model", family=family)
        if not len(pairs) or min(models["surrogate_accuracy"]) < 0.9:
            return None
        low, high = (float(np.mean(pairs.where(surrogate_complexity=c)["error"])) for c in "LH")
        return low - high

    return number


def excess(rows: Rows) -> float | None:
    """Return by how much the first-order value exceeds its bound at most, as a share of it."""
    pairs = rows.where(kind="pair")
    return max(pairs["excess"]) if len(pairs) else None


def ensemble(trained: str, rule: str, over: str) -> Callable[[Rows], float | None]:
    """Return the error of one rule's attack less another's, mean over targets."""

    def number(rows: Rows) -> float | None:
        found = rows.where(kind="ensemble", trained=trained)
        return found.where(rule=rule)["error"][0] - found.where(rule=over)["error"][0] if len(found) else None

    return number


def score(rows: Rows) -> float | None:
    """Return the correlation of agreement with alignment over examples, mean over targets."""
    found = rows.where(kind="score", trained="sites")
    return float(np.mean(found["correlation"])) if len(found) else None


Number = Callable[[Rows, str], float | None]
"""Of a seed's rows, by the column of errors: at the end of a training, or where validation stops it."""


def defence(way: str, over: str, attack: str) -> Number:
    """Return how much lower the error under an attack is with one defence than with another."""

    def number(rows: Rows, key: str) -> float | None:
        found = rows.where(lambda row: key in row, kind="defence", attack=attack)
        return found.where(way=over)[key][0] - found.where(way=way)[key][0] if len(found) else None

    return number


def white_box(rows: Rows, key: str) -> float | None:
    """Return the error under its own attack of a model that was trained against its surrogates' mask."""
    found = rows.where(lambda row: key in row, kind="defence", attack="white box", way="trained-mask")
    return found[key][0] if len(found) else None


def at_end(number: Number) -> EachSeed:
    """Return a measure: the number at the ends of trainings, mean over seeds."""
    return over_seeds(lambda rows: number(rows, "error"))


def lesser(number: Number) -> Least:
    """Return a measure: the lesser of the number at the ends and of that where validation stops trainings."""
    return Least((at_end(number), over_seeds(lambda rows: number(rows, "stopped_error"))))


def asked(condition: Callable[..., Condition], bound: float | int, of: str, number: Number) -> Condition:
    """Return a condition on `lesser`, with the earlier one, on the ends."""
    return condition(
        bound, of=f"{of}, mean over seeds, the lesser of that at the ends and that where validation stops,"
    ).instead_of(condition(bound, of=f"{of}, mean over seeds,"), EARLY_STOPPING, at_end(number))


_MASKED = defence("trained-mask", "trained-mean", "sites mask")
_AVERAGED = defence("trained-mask", "trained-mean", "sites mean")
_OWN = defence("own", "none", "white box")


CLAIMS = (
    Claim(
        id="transfer.alignment",
        text="Attacks transfer the better, the better input gradients are aligned.",
        source=f"{_PAPER}, third hypothesis",
        measure=over_seeds(correlation("alignment", "loss_ratio")),
        condition=at_least(
            0.7, of="Pearson correlation of R with the rise of loss over the own attack's, 64 pairs, mean over seeds,"
        ),
    ),
    Claim(
        id="transfer.alignment-margin",
        text="Read on the margin, which the attack raises, alignment says nearly all.",
        source=_OURS,
        measure=over_seeds(correlation("margin_alignment", "margin_ratio")),
        condition=at_least(0.9, of="the same correlation of the margin's gradients with the margin's rise"),
        kind="ours",
    ),
    *(
        Claim(
            id=f"transfer.regularised-{family}-target",
            text=f"A strongly regularised target is harder to attack ({family}).",
            source=f"{_PAPER}, first hypothesis",
            measure=over_seeds(regularised_targets(family)),
            condition=low_above(0.0, of="rise of error under its own attack, complex less simple, mean over seeds,"),
            tried=""
            if family in ("logistic", "svm")
            else "Asked after these rows had been recorded: it was of two kinds alone.",
        )
        for family in ("logistic", "svm", "rbf", "mlp")
    ),
    *(
        Claim(
            id=f"transfer.regularised-{family}-surrogate",
            text=f"The better surrogate is the strongly regularised one ({family}).",
            source=f"{_PAPER}, second hypothesis",
            measure=over_seeds(regularised_surrogates(family)),
            condition=low_above(0.0, of="error over eight targets, simple less complex surrogate, mean over seeds,"),
            tried=""
            if family != "mlp"
            else "One weight of decay for each complexity (alpha 1e-4 and 1) and no search: early "
            "on two "
            "search seeds differed in sign, and both perceptrons are 97 % accurate and as variable as each other.",
        )
        for family in ("logistic", "svm", "rbf", "mlp")
    ),
    Claim(
        id="transfer.bound",
        text="To first order no transferred attack gains more than the target's own.",
        source="Demontis et al. 2019, section 3, the inequality",
        measure=over_seeds(excess),
        condition=at_most(1e-12, of="greatest excess over the bound, as a share of it,"),
        kind="control",
    ),
    Claim(
        id="transfer.ensemble",
        text="Averaging eight surrogates transfers better than one of them does on average.",
        source="Liu et al. 2017, section 5",
        measure=over_seeds(ensemble("plain", "mean", "single")),
        condition=low_above(0.0, of="error over eight targets, ensemble less single, mean over seeds,"),
        kind="control",
    ),
    Claim(
        id="transfer.agreed-sites",
        text="Where surrogates come from sites with shortcuts of their own, what they agree on transfers better than their "
        "average.",
        source=_OURS,
        measure=over_seeds(ensemble("sites", "and-mask", "mean")),
        condition=low_above(0.0, of="error over eight targets, AND-mask less mean, mean over seeds,"),
        kind="ours",
    ),
    Claim(
        id="transfer.agreed-plain",
        text="The same where they come from one population.",
        source=_OURS,
        measure=over_seeds(ensemble("plain", "and-mask", "mean")),
        condition=low_above(0.0, of="error over eight targets, AND-mask less mean, mean over seeds,"),
        kind="ours",
        tried="Thresholds of .34 to 1, three norms, ensembles of strangers and of one kind, on seeds from 1000 on: averaging "
        "was as "
        "good or better everywhere. What is averaged is an unbiased estimate of the target's gradient there, and a mask only "
        "adds bias.",
    ),
    Claim(
        id="transfer.score",
        text="On examples whose gradients surrogates agree on, a target's gradient is better aligned, too.",
        source=_OURS,
        measure=over_seeds(score),
        condition=above(
            0.3, of="correlation over examples of agreement and alignment, surrogates of sites, mean over targets and seeds,"
        ),
        kind="ours",
    ),
    Claim(
        id="transfer.defence",
        text="Trained on examples along what its own surrogates agree on, a model withstands others' masked attack better "
        "than trained "
        "on examples along their average.",
        source=_OURS,
        measure=lesser(_MASKED),
        condition=asked(low_above, 0.0, "error, trained on the average's less on the mask's examples", _MASKED),
        kind="ours",
        tried="Weights .3 and 1, first-order gains and examples, on seeds 1000 to 1002, where the mask was "
        "ahead. On judged seeds both training sets help alike.",
    ),
    Claim(
        id="transfer.defence-average",
        text="It withstands their averaged attack better, too: training against an average moves weight to what surrogates "
        "disagree on.",
        source=_OURS,
        measure=lesser(_AVERAGED),
        condition=asked(low_above, 0.0, "error, trained on the average's less on the mask's examples", _AVERAGED),
        kind="ours",
        tried="The same settings; ahead on seeds 1000 to 1003, but not on every judged seed: it depends on the sites' codes.",
    ),
    Claim(
        id="transfer.defence-white-box",
        text="Such training helps against strangers only: an attack on the model itself still succeeds.",
        source=_OURS,
        measure=lesser(white_box),
        condition=asked(above, 0.9, "error under the model's own attack", white_box),
        kind="ours",
        tried="An undefended model has 0.973 and passes, too: such training does not help, and by 0.027 it harms.",
    ),
    Claim(
        id="transfer.defence-own",
        text="Training on attacks on itself helps against them.",
        source=_OURS,
        measure=lesser(_OWN),
        condition=asked(low_above, 0.0, "error under the own attack, undefended less defended", _OWN),
        kind="ours",
        tried="The text once said that it is what helps against both, of which the condition asks one. Against strangers (one "
        "population's average, sites' mask, sites' average) it has errors of 0.406, 0.466 and 0.398, undefended 0.780, 0.751 "
        "and 0.719, trained on the mask's examples 0.201, 0.296 and 0.231: it helps there, and less than those do.",
    ),
)
