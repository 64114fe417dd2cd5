"""What is claimed of reprogramming; written before any recorded run.

That programs may stop early was asked afterwards, see each claim's earlier condition.
"""

from collections.abc import Callable

import numpy as np

from claimlab import EARLY_STOPPING, Claim, Condition, EachSeed, Least, Rows, at_least, at_most, low_above

_PAPER = "Elsayed et al. 2019, section 4"


def gain(host: str, task: str) -> Callable[[Rows], float]:
    """Return a trained host's accuracy with its program less that without."""

    def number(rows: Rows) -> float:
        found = rows.where(kind="host", host=host, state="trained", task=task)
        return found["accuracy"][0] - found["without"][0]

    return number


Number = Callable[[Rows, str], float | None]
"""Of a seed's rows: with programs at their ends, whose columns have their names, or "stopped_" before them."""


def trained_over(host: str, state: str) -> Number:
    """Return the accuracy on digits of a trained host's program less that of a random one's."""

    def number(rows: Rows, prefix: str) -> float | None:
        key = f"{prefix}accuracy"
        found = rows.where(lambda row: key in row, kind="host", host=host, task="digits")
        return found.where(state="trained")[key][0] - found.where(state=state)[key][0] if found else None

    return number


def over_bias(rows: Rows) -> float:
    """Return the largest accuracy of a linear host above that of the best bias, over tasks and states."""
    found = rows.where(kind="host", host="linear")
    return float(np.max(np.subtract(found["accuracy"], found["bias"])))


def shift(rows: Rows) -> float:
    """Return how much a program's effect differs between pictures, at most, for linear hosts."""
    return max(rows.where(kind="host", host="linear")["shift"])


def at_end(number: Number) -> EachSeed:
    """Return a measure: the number with programs at their ends, mean over seeds."""
    return EachSeed(lambda rows: number(rows, ""))


def lesser(number: Number) -> Least:
    """Return a measure: the lesser of the number at the ends and of that where validation stops both programs."""
    return Least((at_end(number), EachSeed(lambda rows: number(rows, "stopped_"))))


def ahead(of: str, number: Number) -> Condition:
    """Return a condition on `lesser`, with the earlier one, on the ends."""
    both = "the lesser of that at the ends and that where validation stops both,"
    return low_above(0.0, of=f"{of}, mean over seeds, {both}").instead_of(
        low_above(0.0, of=f"{of}, mean over seeds,"), EARLY_STOPPING, at_end(number)
    )


CLAIMS = (
    Claim(
        id="reprogramming.possible",
        text="A classifier of letters can be made to read digits.",
        source=f"{_PAPER}.2: MNIST through ImageNet networks",
        measure=EachSeed(gain("cnn", "digits")),
        condition=at_least(0.3, of="accuracy on digits, trained CNN host, with a program less without, mean over seeds,"),
        printed=".93 to .98 (not checked in a text)",
        tried="Three rates and two label maps on seed 1000. The first ten host labels and 800 steps missed it on seeds 100 to "
        "105; more steps add little, labels that the host's answers match best add most, to every host.",
    ),
    Claim(
        id="reprogramming.squares",
        text="It can be made to count squares.",
        source=f"{_PAPER}.1",
        measure=EachSeed(gain("cnn", "squares")),
        condition=at_least(
            0.15, of="accuracy at one to ten squares, trained CNN host, with a program less without, mean over seeds,"
        ),
        printed="1.00 (not checked in a text)",
        tried="The setting that digits chose; nothing was searched for squares.",
    ),
    *(
        Claim(
            id=f"reprogramming.trained-over-{state}-{host}",
            text=f"A trained host is easier to reprogram than a random one ({host}, {state}).",
            source=f"{_PAPER}.3",
            measure=lesser(trained_over(host, state)),
            condition=ahead("accuracy on digits, trained less random host", trained_over(host, state)),
            tried="Three rates and two label maps, the same for all hosts. That random networks are easy to reprogram Englert "
            "and Lazic (2022) prove.",
        )
        for host in ("cnn", "mlp")
        for state in ("random", "rescaled")
    ),
    Claim(
        id="reprogramming.linear-cannot",
        text="To a linear host a program is a bias: nothing else can be reached.",
        source="reading digest; by hand",
        measure=EachSeed(shift),
        condition=at_most(
            1e-4, of="difference between pictures of what a program does to logits, over its size, mean over seeds,"
        ),
        kind="control",
    ),
    Claim(
        id="reprogramming.linear-bias",
        text="Its accuracy is no higher than that of the best bias.",
        source="reading digest; by hand",
        measure=EachSeed(over_bias),
        condition=at_most(0.05, of="accuracy of a linear host above that of a trained bias, at most, mean over seeds,"),
        kind="control",
    ),
)
