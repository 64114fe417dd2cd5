"""What is claimed of influence; written before any recorded run."""

from craik.lab import Claim, Measurement, Paired, Rows, bootstrap, high_below, low_above

_SOURCE = "Jaques et al. 2019"


def error(rows: Rows) -> Measurement | None:
    """Return the largest error of the measured influence over couplings, median over seeds."""
    groups = rows.where(kind="coupling").by("seed").values()
    found = [max(abs(a - b) for a, b in zip(group["measured"], group["true"], strict=True)) for group in groups]
    return bootstrap(found) if found else None


def gain(paid: str, skewed: bool) -> Paired:
    """Return a measure: the expected reward with influence paid less without, mean over replicas, median over seeds."""
    game = {"kind": "game", "skewed": skewed}
    return Paired("reward", game | {"paid": paid}, game | {"paid": "none"})


CLAIMS = (
    Claim(
        id="social-influence.recovers",
        text="A model of others recovers a known influence from recorded play.",
        source=f"{_SOURCE}, section 4",
        measure=error,
        condition=high_below(0.05, of="largest error over couplings of 0 to 0.9, in nats,"),
        tried="A prototype's settings, no search of ours and no second run. Five of six seeds are "
        "below; models are not stopped early.",
    ),
    Claim(
        id="social-influence.helps-signalling",
        text="Paying the speaker for influence makes signalling better.",
        source=f"{_SOURCE}, section 3, equation 2",
        measure=gain("printed", False),
        condition=low_above(0.0, of="expected reward with influence paid less without, equal states,"),
        tried="Expected not to hold: the printed form pays for randomness, being at most the entropy of the "
        "speaker's policy given the state. A prototype lost at beta 0.3 and more at 1.",
    ),
    Claim(
        id="social-influence.symbols-as-such",
        text="With the marginal over what is played at all it does, where one state is frequent.",
        source="ours",
        measure=gain("played", True),
        condition=low_above(0.0, of="expected reward with influence paid less without, one state with probability 1/2,"),
        kind="ours",
        tried="A prototype's settings, no search of ours and no second run. Pairs without influence nearly solve "
        "this game, which leaves little to gain; a harder one was not looked for.",
    ),
)
