"""What is claimed of influence, and of it in social dilemmas; written before any run on seeds from 100 on."""

from collections.abc import Callable

from claimlab import Claim, EachSeed, Least, Measure, Measurement, Paired, Rows, bootstrap, high_below, low_above

_SOURCE = "Jaques et al. 2019"
WORLDS = ("harvest", "cleanup")


def gain(world: str, other: str = "none") -> Paired:
    """Return a measure: apples of all in an episode, with influence paid less with something else, median over seeds."""
    final = {"kind": "final", "world": world}
    return Paired("reward", final | {"arm": "influence"}, final | {"arm": other})


def lower(number: Callable[[Rows, str], float | None]) -> EachSeed:
    """Return a measure: a number of each world, the lower one, mean over seeds."""

    def _lower(rows: Rows) -> float | None:
        found = [number(rows, world) for world in WORLDS]
        known = [one for one in found if one is not None]
        return min(known) if len(known) == len(WORLDS) else None

    return EachSeed(_lower)


def share_kept(rows: Rows) -> float | None:
    """Return how much more agents eat in Harvest with influence alone than with reward and influence, as a share."""
    alone, both = (final(rows, "harvest", arm) for arm in ("alone", "influence"))
    return None if alone is None or not both else alone / both - 1


def final(rows: Rows, world: str, arm: str) -> float | None:
    """Return the apples of all at the end."""
    found = rows.where(kind="final", world=world, arm=arm)["reward"]
    return float(found[0]) if found else None


def script(rows: Rows, world: str, group: str, key: str = "reward") -> float | None:
    """Return what scripted agents eat."""
    found = rows.where(kind="script", world=world, group=group)[key]
    return float(found[0]) if found else None


def less(one: float | None, other: float | None) -> float | None:
    """Return a difference, where there is one."""
    return None if one is None or other is None else one - other


def lost(rows: Rows, world: str) -> float | None:
    """Return the share that all-greedy agents lose of what careful ones eat; 0 where these eat nothing."""
    greedy, careful = script(rows, world, "greedy"), script(rows, world, "careful")
    if greedy is None or careful is None:
        return None
    return 1 - greedy / careful if careful else 0.0


def temptation(rows: Rows, world: str) -> float | None:
    """Return what one that takes no care eats more than those around it that do."""
    return less(script(rows, world, "tempted", "tempted"), script(rows, world, "tempted", "careful"))


def learning(rows: Rows, world: str) -> float | None:
    """Return what agents without influence eat more than at random."""
    return less(final(rows, world, "none"), script(rows, world, "random"))


def missed(rows: Rows, world: str) -> float | None:
    """Return the share of careful scripts' apples that agents without influence miss; 0 where there are none."""
    trained, careful = final(rows, world, "none"), script(rows, world, "careful")
    if trained is None or careful is None:
        return None
    return 1 - trained / careful if careful else 0.0


def beyond_surprise(rows: Rows, world: str) -> float | None:
    """Return what agents paid for influence eat more than agents paid for surprise."""
    return less(final(rows, world, "influence"), final(rows, world, "surprise"))


def beside_scripts(measure: Measure) -> Measure:
    """Return a measure of agents that validation has stopped, beside scripts, which learn nothing and eat what they eat."""

    def measured(rows: Rows) -> Measurement | None:
        learnt = rows.where(lambda row: "stopped_reward" in row)
        stopped = [row | {"reward": row["stopped_reward"]} for row in learnt]
        return measure(Rows([*rows.where(kind="script"), *stopped])) if stopped else None

    return measured


def error(rows: Rows) -> Measurement | None:
    """Return the largest error of the measured influence over couplings, median over seeds."""
    groups = rows.where(kind="coupling").by("seed").values()
    found = [max(abs(a - b) for a, b in zip(group["measured"], group["true"], strict=True)) for group in groups]
    return bootstrap(found) if found else None


_SEARCH = (
    "On seeds 1000 and 1001, 5 CPU minutes in all: learning rates of 2e-3 and 4e-3, entropies of 0.02 and 0.01, weights of 1, "
    "2, 10 and 30, 480 and 960 updates, waste at 0.2 and 0.5 with apples at 0.1 and 0.05. At first both heads trained the "
    "layers below, and a large pay for messages kept agents from learning to eat."
)
_EXPECTED = (
    f"{_SEARCH} In Cleanup none of the six runs with the present network had agents with influence eat more at the end than "
    "those without; in Harvest both ate the same within two apples. So it is not expected to hold."
)
_SCRIPTS = (
    "Scripts played on seed 1000 in fields of 9 x 9 to 16 x 23 with patches of 1 to 3: in small fields agents at random take "
    "what there is, too, or leave more to grow than greedy ones. Later the rates of Cleanup became the published ones."
)

CLAIMS = (
    Claim(
        id="social-dilemmas.influence-cleanup",
        text="In Cleanup, agents whose messages are paid for influence, too, eat more together.",
        source=f"{_SOURCE}, influential communication",
        measure=gain("cleanup"),
        condition=low_above(
            0.0, of="apples of all in an episode of fresh worlds, with influence paid less without, median over seeds,"
        ),
        printed="curves only",
        tried=_EXPECTED,
    ).also_stopped(Least),
    Claim(
        id="social-dilemmas.influence-harvest",
        text="So they do in Harvest.",
        source=f"{_SOURCE}, influential communication",
        measure=gain("harvest"),
        condition=low_above(
            0.0, of="apples of all in an episode of fresh worlds, with influence paid less without, median over seeds,"
        ),
        printed="curves only",
        tried=_EXPECTED,
    ).also_stopped(Least),
    Claim(
        id="social-dilemmas.alone-suffices",
        text="In Harvest, messages paid for influence alone do as well as messages paid for the reward, too.",
        source=f"{_SOURCE}, from memory, not checked; read here as: of messages, while the reward trains actions",
        measure=EachSeed(share_kept),
        condition=low_above(
            -0.05, of="apples of all, influence alone less influence and reward, as a share of the latter, mean over seeds,"
        ),
        printed="curves only",
        tried=_SEARCH,
    ).also_stopped(Least),
    Claim(
        id="social-dilemmas.alone-above-none",
        text="In Harvest, messages paid for influence alone do better than messages paid for their speaker's apples.",
        source="ours; without it the claim before would say nothing of influence",
        measure=EachSeed(lambda rows: less(final(rows, "harvest", "alone"), final(rows, "harvest", "none"))),
        condition=low_above(0.0, of="apples of all, influence alone less none, mean over seeds,"),
        kind="control",
        tried="Asked of recorded rows whose medians had been read: in Harvest all arms end alike. Nothing was tried for it.",
    ).also_stopped(Least),
    Claim(
        id="social-dilemmas.learns",
        text="Without influence, too, agents learn to eat more than at random, in both worlds.",
        source="ours; without it the comparison would be one of agents that have not learned",
        measure=lower(learning),
        condition=low_above(
            0.0, of="apples of all, trained without influence less at random, lower of both worlds, mean over seeds,"
        ),
        kind="control",
        tried=_SEARCH,
    ).also_stopped(Least, beside_scripts(lower(learning)), trainings="agents"),
    Claim(
        id="social-dilemmas.trapped",
        text="Trained without influence, agents stay behind scripts that take care, in both worlds: there is more to gain.",
        source="ours; otherwise no pay for messages could help",
        measure=lower(missed),
        condition=low_above(
            0.1, of="share of what careful scripts eat that trained agents miss, lower of both worlds, mean over seeds,"
        ),
        kind="control",
        tried="Asked of recorded rows whose medians had been read: it says what the worlds are, and tests nothing of ours.",
    ).also_stopped(Least, beside_scripts(lower(missed)), trainings="agents"),
    Claim(
        id="social-dilemmas.dilemma",
        text="Both worlds are dilemmas: scripted agents that are all greedy eat less together than with care.",
        source="ours; in Harvest care leaves apples with few others near, in Cleanup one agent cleans",
        measure=lower(lost),
        condition=low_above(
            0.2, of="share of what careful agents eat that greedy ones lose, lower of both worlds, mean over seeds,"
        ),
        kind="control",
        tried=_SCRIPTS,
    ),
    Claim(
        id="social-dilemmas.temptation",
        text="And who takes no care where others do eats more than they.",
        source="ours; otherwise care would pay for itself",
        measure=lower(temptation),
        condition=low_above(
            0.0, of="apples of an agent that takes no care less those of one that does, lower of both worlds, mean over seeds,"
        ),
        kind="control",
        tried=_SCRIPTS,
    ),
    Claim(
        id="social-dilemmas.more-than-surprise",
        text="Influence is worth more than paying messages for being surprising, which bounds it, in both worlds.",
        source="ours",
        measure=lower(beyond_surprise),
        condition=low_above(0.0, of="apples of all, influence paid less surprise paid, lower of both worlds, mean over seeds,"),
        kind="control",
        tried=_SEARCH,
    ).also_stopped(Least),
)

INFLUENCE = (
    Claim(
        id="social-influence.recovers",
        text="A model of others recovers a known influence from recorded play.",
        source=f"{_SOURCE}, section 4",
        measure=error,
        condition=high_below(0.05, of="largest error over couplings of 0 to 0.9, in nats, median over seeds,").at(
            "influence", "influence-paper"
        ),
        tried="A first run with 200 episodes, on seeds 100 to 105: five of six were below, the interval was not. 800 were "
        "tried on seeds 1000 and 1001, and are judged on other seeds than the first run's.",
    ),
)
"""Of the part in which influence is known."""
