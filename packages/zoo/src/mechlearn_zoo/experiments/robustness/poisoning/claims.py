"""What is claimed of poison; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, EachSeed, Rows, at_least, at_most, low_above

_PAPER = "Demontis et al. 2019, section 4.2"
PAIR, SHARE = "8-9", 0.1
"""What claims are read at."""


def over_seeds(number: Callable[[Rows], float]) -> EachSeed:
    """Return a measure: the mean over seeds of a number of each seed's rows."""
    return EachSeed(lambda rows: number(found) if len(found := rows.where(pair=PAIR)) else None)


def regularised(family: str, where: str = "") -> Callable[[Rows], float]:
    """Return the rise of the test error, or of that `where` a row has it, the complex learner's less the simple one's."""

    def number(rows: Rows) -> float:
        some = rows.where(kind="own", family=family, share=SHARE)
        both = [some.where(complexity=c) for c in "HL"]
        weak, strong = (one[f"poisoned{where}"][0] - one[f"clean{where}"][0] for one in both)
        return weak - strong

    return number


def over_flips(rows: Rows) -> float:
    """Return the test error with poison less that with the same flipped labels where they stood, mean over learners."""
    some = rows.where(kind="own", share=SHARE)
    return float(np.mean(np.subtract(some["poisoned"], some["flipped"])))


def surrogate(rows: Rows) -> float:
    """Return the test error with poison made on a stand-in less that with flipped labels, mean over all pairs."""
    flips = rows.where(kind="own", share=SHARE)
    by_target = {(row["family"], row["complexity"]): float(row["flipped"] or 0) for row in flips}
    pairs = rows.where(kind="pair")
    return float(np.mean([float(row["error"] or 0) - by_target[row["target"], row["target_complexity"]] for row in pairs]))


def correlation(rows: Rows) -> float:
    """Return Pearson's correlation of alignment and the rise over that of the own poison, over 36 pairs."""
    pairs = rows.where(kind="pair")
    return float(np.corrcoef(pairs["alignment"], pairs["ratio"])[0, 1])


CLAIMS = (
    *(
        Claim(
            id=f"poisoning.regularised-{family}",
            text=f"A strongly regularised learner resists poison better ({family}).",
            source=_PAPER,
            measure=over_seeds(regularised(family)),
            condition=low_above(
                0.0, of="rise of test error at 10 % poison, weakly less strongly regularised, mean over seeds,"
            ).instead_of(
                low_above(
                    0.0, of="rise of validation error at 10 % poison, weakly less strongly regularised, mean over seeds,"
                ),
                "It was read on the attacker's own validation set, whose loss the poison raises.",
                over_seeds(regularised(family, "_validation")),
            ),
            tried="The same budget of poison for all three learners; nothing was searched for one of them. Test error was "
            "asked for after the rows had been read.",
        )
        for family in ("logistic", "ridge", "svm")
    ),
    Claim(
        id="poisoning.over-flips",
        text="Moved up the implicit gradient, points with wrong labels do more harm than where they stood.",
        source=_PAPER,
        measure=over_seeds(over_flips),
        condition=low_above(0.0, of="test error, poison less flipped labels at 10 %, mean over learners and seeds,"),
        kind="control",
    ),
    Claim(
        id="poisoning.transfers",
        text="Poison made on a stand-in that saw other data does so, too.",
        source=_PAPER,
        measure=over_seeds(surrogate),
        condition=low_above(
            0.0, of="test error, a stand-in's poison less flipped labels at 10 %, mean over 36 pairs and seeds,"
        ),
    ),
    Claim(
        id="poisoning.alignment",
        text="It transfers the better, the better the implicit gradients are aligned.",
        source=f"{_PAPER}; the number is ours",
        measure=over_seeds(correlation),
        condition=at_least(
            0.5, of="Pearson correlation of R with the rise of test loss over the own poison's, 36 pairs, mean over seeds,"
        ),
        tried="One search seed, which asked for less than the condition, too. Alignment is read at the points' "
        "start, the rise after twelve steps that bend away from it.",
    ),
    Claim(
        id="poisoning.implicit",
        text="The implicit gradient foretells what full retraining finds.",
        source="Demontis et al. 2019, section 2.3",
        measure=over_seeds(lambda rows: max(rows.where(kind="own", family="logistic")["foretold"])),
        condition=at_most(
            1e-3, of="largest relative error of the directional derivative over rows of logistic regression, mean over seeds,"
        ),
        kind="control",
    ),
)
