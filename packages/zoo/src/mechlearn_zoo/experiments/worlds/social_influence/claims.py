"""What is claimed of influence; written before any recorded run."""

from claimlab import Claim, Measurement, Paired, Rows, bootstrap, high_below, low_above, number

_SOURCE = "Jaques et al. 2019"


def error(rows: Rows) -> Measurement | None:
    """Return the largest error of the measured influence over couplings, median over seeds."""
    groups = rows.where(kind="coupling").by("seed").values()
    found = [max(abs(a - b) for a, b in zip(group["measured"], group["true"], strict=True)) for group in groups]
    return bootstrap(found) if found else None


def gain(paid: str, game: str, other: str = "none") -> Paired:
    """Return a measure: the expected reward by what is paid less by something else, mean over replicas, median over seeds."""
    rows = {"kind": "game", "game": game}
    return Paired("reward", rows | {"paid": paid}, rows | {"paid": other})


def missing(rows: Rows) -> Measurement | None:
    """Return how much of the best expected reward pairs without influence miss where talk costs, median over seeds."""
    found = rows.where(kind="game", game="costly", paid="none")
    return bootstrap([number(row, "best") - number(row, "reward") for row in found]) if found else None


_SEARCH = (
    "Costs of 0.1 to 0.4 and weights of 0.3, 1 and 2 on seed 1000 with 60 pairs: at 0.1 there is nothing to gain, from 0.2 on "
    "there is. The weight is that of the games where talk is free."
)


CLAIMS = (
    Claim(
        id="social-influence.recovers",
        text="A model of others recovers a known influence from recorded play.",
        source=f"{_SOURCE}, section 4",
        measure=error,
        condition=high_below(0.05, of="largest error over couplings of 0 to 0.9, in nats, median over seeds,"),
        tried="A first run with 200 episodes, on seeds 100 to 105: five of six were below, the interval was not. 800 were "
        "tried on seeds 1000 and 1001, and are judged on other seeds than the first run's.",
    ),
    Claim(
        id="social-influence.helps-signalling",
        text="Paying the speaker for influence makes signalling better where talk is free.",
        source=f"{_SOURCE}, section 3, equation 2",
        measure=gain("printed", "equal"),
        condition=low_above(0.0, of="expected reward with influence paid less without, equal states, median over seeds,"),
        tried="Expected not to hold: the printed form pays for randomness, being at most the entropy of the "
        "speaker's policy given the state. A prototype lost at beta 0.3 and more at 1.",
    ),
    Claim(
        id="social-influence.symbols-as-such",
        text="With the marginal over what is played at all it does, where one state is frequent.",
        source="ours",
        measure=gain("played", "skewed"),
        condition=low_above(
            0.0, of="expected reward with influence paid less without, one state with probability 1/2, median over seeds,"
        ),
        kind="ours",
        tried="A first run lost, on seeds 100 to 105. Pairs without influence go far in this game, which leaves little to "
        "gain; the harder one is that in which talk costs.",
    ),
    Claim(
        id="social-influence.talk-dies",
        text="Where talk costs, pairs that are not paid for influence fall far behind the best.",
        source="ours; without it the next claims would say nothing",
        measure=missing,
        condition=low_above(0.15, of="expected reward less costs, the best less without influence, median over seeds,"),
        kind="control",
        tried=_SEARCH,
    ),
    Claim(
        id="social-influence.costly-talk",
        text="There, paying the speaker for influence as printed makes signalling better.",
        source=f"{_SOURCE}, section 3, equation 2, and section 4: influence on messages",
        measure=gain("printed", "costly"),
        condition=low_above(0.0, of="expected reward less costs, with influence paid less without, median over seeds,"),
        tried=_SEARCH,
    ),
    Claim(
        id="social-influence.costly-symbols",
        text="So does paying with the marginal over what is played at all.",
        source="ours",
        measure=gain("played", "costly"),
        condition=low_above(0.0, of="expected reward less costs, with influence paid less without, median over seeds,"),
        kind="ours",
        tried=_SEARCH,
    ),
    Claim(
        id="social-influence.alone-suffices",
        text="Influence alone, without the reward, trains the speaker as well.",
        source=f"{_SOURCE}, from memory, not checked; there for agents that also act",
        measure=gain("alone", "costly", "printed"),
        condition=low_above(
            -0.05, of="expected reward less costs, influence alone less influence and reward, median over seeds,"
        ),
        tried="Expected not to hold here: influence says nothing of the state. On seed 1000 such pairs ended at chance.",
    ),
    Claim(
        id="social-influence.more-than-randomness",
        text="Influence is worth more than paying for randomness, which bounds it.",
        source="ours",
        measure=gain("printed", "costly", "surprise"),
        condition=low_above(0.0, of="expected reward less costs, influence paid less surprise paid, median over seeds,"),
        kind="control",
        tried="Expected not to hold: on seed 1000, paying minus the log-probability of what is said was better at the same "
        "weight, and than influence at any weight that was tried.",
    ),
)
