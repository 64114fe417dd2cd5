"""What is claimed of options and actions; written before any judged run. Differences are within a seed: same walks."""

from claimlab import Claim, Least, low_above
from mechlearn_zoo.experiments.skips.comparing.measures import above_frequent, ahead

_SOURCE = "thesis section 2.5: options with skips learnt jointly; no numbers"
_ACTIONS = "thesis sections 2.1.1 and 2.5: actions; no numbers"
_TRIED = "The length of training was chosen on seed 1000 alone; see the experiment's README."
_STREAMS = (
    "Of a record before, whose separate models began alike and whose batches came of the weights' stream of random numbers, "
    "{} on the same seeds."
)

_HARDLY_LEARNT = (
    f"{_TRIED} The model of every frame is 0.069 [-0.006, 0.163] above the most frequent cell: it is not established to have "
    "learnt anything on this budget; where validation stops it, it is 0.120 [0.063, 0.310] above."
)


def _hypothesis(
    name: str, text: str, methods: tuple[str, str], of: str, before: str, source: str = _SOURCE, tried: str = _TRIED
) -> Claim:
    """Return the claim that the first of two methods ends right more often; ``of`` says than what."""
    return Claim(
        id=f"skips-options.{name}",
        kind="ours" if source.startswith("ours") else "hypothesis",
        text=text,
        source=source,
        measure=ahead(*methods),
        condition=low_above(0, of=f"share of right ends less that {of}, median over seeds,"),
        tried=f"{tried} {_STREAMS.format(before)}",
    ).also_stopped(Least)


CLAIMS = (
    _hypothesis(
        "joint",
        "One model of all options, its skips learnt with their ends, ends right more often than a model each on as many "
        "evaluations together.",
        ("joint", "separate"),
        "of separate models",
        "0.210 [0.117, 0.258]",
    ),
    _hypothesis(
        "skips",
        "It ends right more often than a model of all options that predicts every frame.",
        ("joint", "every-frame"),
        "of steps of 1",
        "0.597 [0.532, 0.810]",
        tried=_HARDLY_LEARNT,
    ),
    _hypothesis(
        "switches",
        "Skips that may stop on the way end right more often than those that only options' ends stop, as in value "
        "prediction networks.",
        ("joint", "ends"),
        "of skips to options' ends alone",
        "-0.057 [-0.165, -0.020]",
    ),
    _hypothesis(
        "actions",
        "With the coming actions known, ASI ends right more often than steps of 4 frames.",
        ("actions", "actions-fixed-4"),
        "of steps of 4",
        "-0.213 [-0.280, -0.130]",
        _ACTIONS,
    ),
    _hypothesis(
        "actions-every-frame",
        "With the coming actions known, ASI ends right more often than a model of every frame.",
        ("actions", "actions-fixed-1"),
        "of steps of 1",
        "0.110 [0.005, 0.182]",
        _ACTIONS,
    ),
    Claim(
        id="skips-options.learnt",
        kind="control",
        text="On this budget the model of all options ends right more often than the most frequent cell does.",
        source="ours; a control",
        measure=above_frequent("joint"),
        condition=low_above(0.2, of="share of right ends less that of the most frequent cell, median over seeds,"),
        tried=f"{_TRIED} {_STREAMS.format('0.740 [0.654, 0.805]')}",
    ),
)
