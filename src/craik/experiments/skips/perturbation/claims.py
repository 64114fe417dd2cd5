"""What is claimed of a change of physics, and how it is measured."""

from craik.lab import Claim, Measurement, Rows, at_least, at_most, bootstrap


def loss_at_switch(rows: Rows, method: str) -> list[float]:
    """Return, for each seed, the accuracy at the last check before the switch less the lowest after it."""
    losses: list[float] = []
    for group in rows.where(method=method).by("seed").values():
        before, after = (group.where(after=late)["accuracy"] for late in (False, True))
        if before and after:
            losses.append(before[-1] - min(after))
    return losses


def _measured(rows: Rows, method: str) -> Measurement | None:
    losses = loss_at_switch(rows, method)
    return bootstrap(losses) if losses else None


def _fixed(rows: Rows) -> Measurement | None:
    """The fixed step that loses most."""
    found = [_measured(rows, f"fixed-{dt}") for dt in (1, 2, 3)]
    return max((one for one in found if one is not None), key=lambda one: one.value, default=None)


_LOST = "accuracy before the switch less the lowest after it, median over seeds,"
_TRIED = "At this size and budget; see the experiment's README."

CLAIMS = (
    Claim(
        id="skips-perturbation.asi-holds",
        text="ASI holds its accuracy when bouncing boards replace those without bounce.",
        source="thesis figure 2.11",
        measure=lambda rows: _measured(rows, "asi"),
        condition=at_most(0.1, of=_LOST),
        tried=_TRIED,
    ),
    Claim(
        id="skips-perturbation.fixed-loses",
        text="Fixed steps quickly lose accuracy after the switch.",
        source="thesis figure 2.11 and section 2.3.3",
        measure=_fixed,
        condition=at_least(0.1, of=f"{_LOST} of the fixed step that loses most,"),
        tried=_TRIED,
    ),
)
