"""What is claimed of the choice of a basis; written before any recorded run."""

from claimlab import Claim, Greatest, OverSeeds, at_least, at_most

_SOURCE = "ours; issue 'rules that test for conflict'"
_TRIED = "A prototype on seeds 1000 and 1001 and this code on 1002, once each; nothing was set by what came out."


def _of(key: str, board: str, method: str) -> OverSeeds:
    return OverSeeds(key, {"kind": "final", "board": board, "method": method})


def _rival(name: str, text: str, board: str) -> Claim:
    """Return the claim that a rival, named by its first word, finds the spirals on a board."""
    return Claim(
        id=f"conflict-basis.{name}",
        text=text,
        source=_SOURCE,
        measure=_of("accuracy", board, name.partition("-")[0]),
        condition=at_least(0.95, of="test accuracy, median over seeds,").at("rivals"),
        kind="ours",
        tried="One run; level, decay and length are those of the other bases, and nothing was searched.",
    )


CLAIMS = (
    Claim(
        id="conflict-basis.coordinates",
        text="With sixteen shortcuts in coordinates of their own, layers that choose their basis find the spirals.",
        source=_SOURCE,
        measure=_of("accuracy", "16", "chosen"),
        condition=at_least(0.95, of="test accuracy, median over seeds,"),
        kind="ours",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-basis.rotated",
        text="With four rotated shortcuts they find them, too.",
        source=_SOURCE,
        measure=_of("accuracy", "4 rotated", "chosen"),
        condition=at_least(0.95, of="test accuracy, median over seeds,"),
        kind="ours",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-basis.none",
        text="Without shortcuts they lose nothing.",
        source=_SOURCE,
        measure=_of("accuracy", "none", "chosen"),
        condition=at_least(0.95, of="test accuracy without shortcuts, median over seeds,"),
        kind="ours",
    ),
    Claim(
        id="conflict-basis.directions",
        text="Masks of directions alone fail on the sixteen: one direction agrees in all environments.",
        source=_SOURCE,
        measure=_of("accuracy", "16", "directions"),
        condition=at_most(0.75, of="test accuracy, median over seeds,"),
        kind="control",
    ).also_stopped(Greatest, trainings="it"),
    Claim(
        id="conflict-basis.components",
        text="Masks of single weights alone fail on the rotated ones.",
        source=_SOURCE,
        measure=_of("accuracy", "4 rotated", "components"),
        condition=at_most(0.75, of="test accuracy, median over seeds,"),
        kind="control",
    ).also_stopped(Greatest, trainings="it"),
    Claim(
        id="conflict-basis.stays",
        text="Environments held out tell the bases apart: where shortcuts have coordinates the first layer keeps to them.",
        source=_SOURCE,
        measure=_of("directions_0", "16", "chosen"),
        condition=at_most(0.1, of="share of steps with directions in the first layer, median over seeds,"),
        kind="ours",
    ),
    Claim(
        id="conflict-basis.turns",
        text="Where they are rotated it takes directions.",
        source=_SOURCE,
        measure=_of("directions_0", "4 rotated", "chosen"),
        condition=at_least(0.8, of="share of steps with directions in the first layer, median over seeds,"),
        kind="ours",
    ),
    _rival("eigenbasis-rotated", "Masks in K-FAC's eigenbasis find the spirals among four rotated shortcuts.", "4 rotated"),
    _rival("eigenbasis-coordinates", "They find them with sixteen shortcuts in coordinates of their own.", "16"),
    _rival("units", "Decided by whole units, rotated shortcuts go.", "4 rotated"),
)
