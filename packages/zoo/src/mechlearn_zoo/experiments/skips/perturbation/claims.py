"""What is claimed of a change of physics, and how it is measured."""

from collections.abc import Callable, Sequence

import numpy as np

from claimlab import Claim, Measurement, Rows, at_least, at_most, bootstrap, low_above, number
from mechlearn_zoo.experiments.skips.comparing.outcomes import LEARNT

FIXED = ("fixed-1", "fixed-2", "fixed-3")

AROUND = 3
"""Checks before the switch, and after it, over which accuracy is averaged."""

KEPT = 0.05
"""How far accuracy with bounce may be from that without if a frozen network is to have kept it."""

CONTROLLED = ("control", "epochs", "paper")
"""Presets whose sampling ends 500 steps before the switch, and that train on standard boards throughout, too."""

FROZEN = (*CONTROLLED, "half")
"""Presets that are asked for labels, and for networks at the switch; in `half` true frames are still fed in there."""


def of_schedule(rows: Rows, schedule: str) -> Rows:
    """Return the rows of a schedule; those of a time when they did not name it have the switch."""
    return rows.where(lambda row: row.get("schedule", "switch") == schedule)


def loss_around(rows: Rows, method: str, schedule: str = "switch") -> dict[float, float]:
    """Return, for each seed, the mean accuracy at the last checks before the switch less that at the first ones after it.

    A seed on which nothing was learnt before the switch has nothing to lose, and is left out.
    """
    found: dict[float, float] = {}
    for group in of_schedule(rows, schedule).where(method=method).by("seed").values():
        before, after = (group.where(after=late)["accuracy"] for late in (False, True))
        if before and after and np.mean(before[-AROUND:]) >= LEARNT:
            found[number(group[0], "seed")] = float(np.mean(before[-AROUND:]) - np.mean(after[:AROUND]))
    return found


def lowest_after(rows: Rows, method: str) -> list[float]:
    """Return, for each seed, the accuracy at the last check before the switch less the lowest after it."""
    losses: list[float] = []
    for group in of_schedule(rows, "switch").where(method=method).by("seed").values():
        before, after = (group.where(after=late)["accuracy"] for late in (False, True))
        if before and after:
            losses.append(before[-1] - min(after))
    return losses


def beyond_control(rows: Rows, method: str) -> list[float]:
    """Return, for each seed, what is lost at the switch less what is lost at that time without one."""
    ours, control = loss_around(rows, method), loss_around(rows, method, "standard")
    return [ours[seed] - control[seed] for seed in ours if seed in control]


def easier(rows: Rows, method: str) -> list[float]:
    """Return, for each seed, accuracy without bounce before the switch less that on standard boards of training on these."""
    found: list[float] = []
    for group in rows.where(method=method, after=False).by("seed").values():
        without = of_schedule(group, "switch").where(lambda row: "accuracy_without_bounce" in row)
        standard = of_schedule(group, "standard")
        if without and standard:
            mean = np.mean(without["accuracy_without_bounce"][-AROUND:])
            found.append(float(mean - np.mean(standard["accuracy"][-AROUND:])))
    return found


def frozen_anyhow(rows: Rows, method: str) -> list[float]:
    """Return, for each seed, how far apart accuracies with and without bounce are at the last check before the switch.

    Seeds on which nothing was learnt are left out.
    """
    some = of_schedule(rows, "switch").where(lambda row: "accuracy_without_bounce" in row, method=method, after=False)
    lasts = [group[-1] for group in some.by("seed").values()]
    learnt = [row for row in lasts if number(row, "accuracy_without_bounce") >= LEARNT]
    return [abs(number(row, "accuracy") - number(row, "accuracy_without_bounce")) for row in learnt]


def frozen(rows: Rows, method: str) -> list[float]:
    """Return the same, of seeds where it can be more than `KEPT`.

    First frames with and without bounce are the same, and with them predictions: accuracies are never further apart than the
    share of boards with another label.
    """
    others = rows.where(lambda row: "same_labels" in row and number(row, "same_labels") < 1 - KEPT)
    return frozen_anyhow(others, method)


def labels(rows: Rows) -> Measurement | None:
    """Return the share of boards with the same label with bounce and without; median over seeds."""
    some = rows.where(lambda row: "same_labels" in row)
    return bootstrap([number(group[0], "same_labels") for group in some.by("seed").values()]) if some else None


PerSeed = Callable[[Rows, str], Sequence[float]]


def _of(measure: PerSeed, method: str) -> Callable[[Rows], Measurement | None]:
    def over_seeds(rows: Rows) -> Measurement | None:
        found = measure(rows, method)
        return bootstrap(found) if found else None

    return over_seeds


def _fixed(measure: PerSeed, largest: bool = True) -> Callable[[Rows], Measurement | None]:
    """Measure on the fixed step with the largest median, or with the least."""

    def over_steps(rows: Rows) -> Measurement | None:
        measured = [_of(measure, method)(rows) for method in FIXED]
        found = sorted((one for one in measured if one is not None), key=lambda one: one.value)
        return found[-1 if largest else 0] if found else None

    return over_steps


def _around(rows: Rows, method: str) -> list[float]:
    return list(loss_around(rows, method).values())


_LOWEST = "accuracy before the switch less the lowest after it, median over seeds,"
_LOST = (
    f"mean accuracy over the {AROUND} checks before the switch less that over the {AROUND} after it, median over seeds on "
    f"which the former is at least {LEARNT:g},"
)
_BEYOND = f"{_LOST} less the same of training on standard boards throughout,"
_NOISE = (
    "The lowest of several later checks is below an earlier one by chance alone, before a switch as after it; and in the quick "
    "preset true frames are still being fed in when the boards change. On quick's rows, on which it was asked, ASI lost 0.26 "
    "(did not hold so far) and the fixed step that loses most 0.54 (held so far); as asked now these rows say nothing."
)
_CONTROL = (
    "Measured by the presets control, epochs and paper, not by quick. The settings of control were looked at once on seed "
    "1000, with fixed steps of 3 on one schedule and with the other two on both. Seed 100 had been recorded before the others, "
    "by an older source on another processor, with ASI losing 0.45 and steps of 3 0.64; it was made again with them."
)
_STEPS = (
    "Fixed steps are those of 2 and 3: control and epochs train no others. Figure 2.11 has steps of 1, too; so has the preset "
    "paper."
)
_HALF = (
    "Measured by half, too, whose settings were looked at on seed 1000 with fixed steps of 3, for 24 epochs: half has 15 of "
    "them, with the switch after 14, where most had been learnt."
)
_BY_CONSTRUCTION = (
    "On the small boards of control and epochs it is nearly so by construction: no training enters, and 99 or 100 of the "
    "hundred validation boards of each of control's seeds have the same label. The published boards are those of paper."
)

CLAIMS = (
    Claim(
        id="skips-perturbation.asi-holds",
        text="ASI holds its accuracy when bouncing boards replace those without bounce.",
        source="thesis figure 2.11",
        measure=_of(_around, "asi"),
        condition=at_most(0.1, of=_LOST).instead_of(at_most(0.1, of=_LOWEST), _NOISE, _of(lowest_after, "asi")).at(*CONTROLLED),
        tried=_CONTROL,
    ),
    Claim(
        id="skips-perturbation.fixed-loses",
        text="Fixed steps quickly lose accuracy after the switch.",
        source="thesis figure 2.11 and section 2.3.3",
        measure=_fixed(_around, largest=False),
        condition=at_least(0.1, of=f"{_LOST} of the fixed step that loses least,")
        .instead_of(
            at_least(0.1, of=f"{_LOST} of the fixed step that loses most,")
            .instead_of(at_least(0.1, of=f"{_LOWEST} of the fixed step that loses most,"), _NOISE, _fixed(lowest_after))
            .at(*CONTROLLED),
            "The sentence is of fixed steps, of each and not of one.",
            _fixed(_around),
        )
        .at(*CONTROLLED),
        tried=f"{_CONTROL} {_STEPS}",
    ),
    Claim(
        id="skips-perturbation.beyond-control",
        kind="control",
        text="They lose more there than without a switch.",
        source="ours: thesis figure 2.11 has no control",
        measure=_fixed(beyond_control, largest=False),
        condition=low_above(0, of=f"{_BEYOND} of the fixed step that loses least,")
        .instead_of(
            low_above(0, of=f"{_BEYOND} of the fixed step that loses most,").at(*CONTROLLED),
            "'They' are fixed steps, each and not one; and the step that loses most had learnt on two seeds.",
            _fixed(beyond_control),
        )
        .at(*CONTROLLED),
        tried=f"{_CONTROL} {_STEPS}",
    ),
    Claim(
        id="skips-perturbation.easier",
        text="Fixed steps learn the task without bounce better than the standard one.",
        source="thesis section 2.3.3",
        measure=_fixed(easier, largest=False),
        condition=low_above(
            0,
            of=f"mean accuracy over {AROUND} checks without bounce less that on standard boards of training on these, median "
            "over seeds, of the fixed step with the least difference,",
        ).at(*CONTROLLED),
        tried=f"{_CONTROL} {_STEPS}",
    ),
    Claim(
        id="skips-perturbation.same-labels",
        text="The ball reaches the same platform with bounce and without on most boards.",
        source="thesis section 2.3.3",
        measure=labels,
        condition=low_above(0.5, of="share of validation boards with the same label, median over seeds,").at(*FROZEN),
        tried=f"{_CONTROL} {_HALF} {_BY_CONSTRUCTION}",
    ),
    Claim(
        id="skips-perturbation.frozen",
        text="A fixed step's network that is frozen at the switch keeps its accuracy on standard boards.",
        source="thesis section 2.3.3",
        measure=_fixed(frozen),
        condition=at_most(
            KEPT,
            of=f"distance of accuracies with and without bounce at the last check before the switch, median over seeds on "
            f"which more than {KEPT:g} of the boards have another label without bounce, of the fixed step where it is largest,",
        )
        .instead_of(
            at_most(
                KEPT,
                of="distance of accuracies with and without bounce at the last check before the switch, median over seeds, of "
                "the fixed step where it is largest,",
            ).at(*FROZEN),
            "The distance is at most the share of boards with another label, so that the claim could not fail where labels are "
            "the same on all boards or nearly all, as on small ones.",
            _fixed(frozen_anyhow),
        )
        .at(*FROZEN),
        tried=f"{_CONTROL} {_HALF}",
    ),
)
