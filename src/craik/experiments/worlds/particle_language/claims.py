"""What is claimed of invented symbols; written before any recorded run."""

from collections.abc import Callable

from craik.lab import Claim, Measurement, Rows, bootstrap, high_below, low_above

_SOURCE = "Mordatch and Abbeel 2018"


def _each(rows: Rows, number: Callable[[Rows], float]) -> Measurement | None:
    groups = rows.where(kind="final").by("seed").values()
    found = [number(group) for group in groups if len(group.where(channel="none"))]
    return bootstrap(found) if found else None


def _distance(group: Rows, channel: str, exchanged: bool = False) -> float:
    return group.where(channel=channel, exchanged=exchanged)["distance"][0]


def _needed(group: Rows) -> float:
    return _distance(group, "symbols") / _distance(group, "none")


def _grounded(group: Rows) -> float:
    found = group.where(channel="symbols", exchanged=False)
    return found["bits"][0] / found["entropy"][0]


def _exchanged(group: Rows) -> float:
    return _distance(group, "symbols", exchanged=True) / _distance(group, "none")


CLAIMS = (
    Claim(
        id="particle-language.channel-needed",
        text="With symbols the agents reach what they cannot reach without.",
        source=f"{_SOURCE}, table 1",
        printed="reward -0.919 without, -0.332 with; unchecked",
        measure=lambda rows: _each(rows, _needed),
        condition=high_below(0.6, of="distance to the goal at the end, with symbols over without,"),
    ),
    Claim(
        id="particle-language.grounded",
        text="A symbol says the landmark's colour.",
        source=f"{_SOURCE}, section 6.1",
        measure=lambda rows: _each(rows, _grounded),
        condition=low_above(0.7, of="bits that the last symbol says of the colour, over the colour's entropy,"),
    ),
    Claim(
        id="particle-language.shuffled",
        text="It is what they say that helps: with symbols of another episode they are no nearer than without.",
        source="ours; the control",
        measure=lambda rows: _each(rows, _exchanged),
        condition=low_above(0.75, of="distance at the end, with exchanged symbols over without a channel,"),
        kind="control",
    ),
)
