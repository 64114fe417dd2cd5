"""What is claimed of one-shot imitation; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Greatest, Least, Measurement, Rows, bootstrap, high_below, low_above, low_at_least

_SOURCE = "Duan et al. 2017, by the reading digest; towers and numbers ours"


def success(arm: str, over: str = "", tasks: str = "unseen") -> Callable[[Rows], Measurement | None]:
    """Return a measure: an arm's share of tasks built, less another's, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        some = rows.where(kind="final", tasks=tasks)
        found = np.array(some.where(arm=arm)["success"])
        if over and len(found):
            found = found - np.array(some.where(arm=over)["success"])
        return bootstrap(found, np.mean) if len(found) else None

    return measure


def remembered(rows: Rows) -> Measurement | None:
    """Return the share of tasks built that were trained on less that of unseen ones, flat network, mean over seeds."""
    some = rows.where(kind="final", arm="flat")
    seen, unseen = (some.where(tasks=tasks)["success"] for tasks in ("seen", "unseen"))
    return bootstrap(np.subtract(seen, unseen), np.mean) if seen and unseen else None


CLAIMS = (
    Claim(
        id="one-shot-towers.unseen",
        text="Attention to a single demonstration builds towers that were never trained on.",
        source=_SOURCE,
        measure=success("attention"),
        condition=low_above(0.8, of="share of unseen tasks built, mean over seeds,"),
    ),
    Claim(
        id="one-shot-towers.flat",
        text="A flat network on the same frames remembers the tasks it saw.",
        source=_SOURCE,
        measure=remembered,
        condition=low_above(0.3, of="share of tasks built by the flat network, seen less unseen, mean over seeds,").instead_of(
            low_above(0.3, of="share of unseen tasks built, attention less flat network, mean over seeds,"),
            "An untrained flat network passed: attention is 0.99 above one that builds nothing, and remembers nothing.",
            success("attention", "flat"),
        ),
        tried="Tasks that it saw were asked for after the rows had been read. Of those it builds 0.62, of unseen ones 0.21 "
        "(attention 0.99 of either): it remembers a part.",
    ).also_stopped(Least, trainings="it"),
    Claim(
        id="one-shot-towers.demonstration",
        text="Without the demonstration nothing can be built but by luck.",
        source=_SOURCE,
        measure=success("blind"),
        condition=high_below(0.2, of="share of unseen tasks built, mean over seeds,"),
        kind="control",
    ).also_stopped(Greatest, trainings="it"),
    Claim(
        id="one-shot-towers.last-frame",
        text="The whole demonstration serves at least as well as its last frame.",
        source=_SOURCE,
        measure=success("attention", "snapshot"),
        condition=low_at_least(0.0, of="share of unseen tasks built, whole less last frame, mean over seeds,"),
    ).also_stopped(Least),
    Claim(
        id="one-shot-towers.more-blocks",
        text="Trained on fewer blocks, it works on more.",
        source=_SOURCE,
        measure=success("fewer-blocks"),
        condition=low_above(0.1, of="share of tasks of five blocks built after training on three and four, mean over seeds,"),
    ),
)
