"""What a gradient is made of: its correlation with the mechanism's and the shortcuts' share, by threshold.

At an untrained network the gradient on the spirals is compared with two others: on data whose mechanism was shuffled, so
that only shortcuts tell of the label, and on data whose shortcuts were shuffled, so that only the mechanism does. The
AND-mask drops the shortcuts' part, the XOR-mask the mechanism's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from craik.agreement import AndMask, Mean, Rule, Statistics, XorMask
from craik.agreement.environments import partition
from craik.agreement.gradients import RunningSums, stream_environment_gradients
from craik.harness.claims import Claim, Measurement, Row, bootstrap
from craik.harness.columns import OverSeeds, by_seed, curves, number, where
from craik.harness.figures import COLOURS, band, panels
from craik.harness.limits import at_least, positive
from craik.networks import Init, mlp
from craik.tasks.spirals import Split, spirals

REPRODUCES = "thesis section 3.3.1 and appendix B.2.3.5, figure 3.7; paper section 3.1, figure 7"

ENOUGH = 50
"""Components over which a correlation says something; figure and claims leave out masks that keep fewer."""


@dataclass(frozen=True)
class Config:
    """Settings of the measurement."""

    seed: int = 0
    """First seed: of the data, the shuffles and the weights."""
    environments: int = 16
    """Number of environments."""
    batch: int = 1024
    """Examples of each environment."""
    shortcut_dims: int = 32
    """Number of shortcut inputs."""
    shortcut_scale: float = 0.1
    """Standard deviation of the shortcuts beside spirals of unit variance; the published code has 1."""
    hidden: int = 256
    """Units in each hidden layer."""
    layers: int = 3
    """Hidden layers."""
    init: Init = "kaiming"
    """Initial weights: the published code's (kaiming) or PyTorch's default."""
    steps: int = 8
    """Thresholds are 0, 1 / steps, ..., 1."""

    def __post_init__(self) -> None:
        at_least(self, 2, "environments", "batch", why="correlations are over several")
        at_least(self, 1, "shortcut_dims", "hidden", "layers", "steps")
        positive(self, "shortcut_scale")


PRESETS = {"quick": Config(), "paper": Config(steps=16)}
SEEDS = {"quick": 10, "paper": 10}


def shuffled(data: Split, part: str, generator: Generator) -> Split:
    """Return the data with either part of its inputs permuted over all examples, so that it no longer tells of the label."""
    order = torch.randperm(len(data.x), generator=generator)
    plane, shortcuts = data.x[:, :2], data.x[:, 2:]
    x = [plane[order], shortcuts] if part == "mechanism" else [plane, shortcuts[order]]
    return data._replace(x=torch.cat(x, dim=1))


def statistics(model: nn.Module, data: Split, needs: frozenset[str]) -> dict[str, Statistics]:
    """Return the sums over environments of every parameter's gradients and their signs."""
    losses = cross_entropy(model(data.x)[:, 0], data.y, reduction="none")
    groups = partition(data.environments, len(losses), losses.device)
    parameters = dict(model.named_parameters())
    sums = stream_environment_gradients(losses, groups, parameters, lambda parameter: RunningSums(parameter, needs))
    return {name: some.statistics() for name, some in sums.items()}


def flat(rule: Rule, found: dict[str, Statistics]) -> Float[Tensor, " components"]:
    """Return what a rule makes of all parameters' gradients, as one vector."""
    return torch.cat([rule(some).gradient.flatten() for some in found.values()])


def correlation(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float | None:
    """Return Pearson's correlation over components where a is not 0; None for fewer than three or constant ones."""
    kept = a != 0
    both = torch.stack([a[kept], b[kept]]).double()
    if both.shape[1] < 3 or bool((both.std(dim=1) == 0).any()):
        return None
    return float(torch.corrcoef(both)[0, 1])


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each rule and threshold: the correlations, and the share of components that is left."""
    data = spirals(
        config.seed, config.environments, config.batch, config.shortcut_dims, shortcut_scale=config.shortcut_scale
    ).train
    generator = torch.Generator().manual_seed(config.seed + 2**32)
    model = mlp(2 + config.shortcut_dims, 1, generator, config.hidden, config.layers, config.init)
    # What is left when one part is shuffled is the other part's signal.
    alone = {
        "shortcut": flat(Mean(), statistics(model, shuffled(data, "mechanism", generator), Mean.needs)),
        "mechanism": flat(Mean(), statistics(model, shuffled(data, "shortcuts", generator), Mean.needs)),
    }
    found = statistics(model, data, AndMask.needs)
    first = next(model.parameters()).numel()  # the first layer's weights: the only ones that belong to single inputs
    for index in range(config.steps + 1):
        threshold = index / config.steps
        rules: dict[str, Rule] = {"and-mask": AndMask(threshold), "xor-mask": XorMask(threshold)}
        for method, rule in rules.items():
            combined = flat(rule, found)
            signals: Row = {signal: correlation(combined, gradient) for signal, gradient in alone.items()}
            for signal, gradient in alone.items():
                signals[f"first_{signal}"] = correlation(combined[:first], gradient[:first])
            counts = {"left": int((combined != 0).sum()), "first_left": int((combined[:first] != 0).sum())}
            shares: Row = {**counts, "survivors": counts["left"] / len(combined)}
            yield {"method": method, "threshold": threshold, "index": index, **signals, **shares}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return (number(row, "index") + 1) / (config.steps + 1), f"threshold {row['threshold']}"


def figures(rows: Sequence[Row]) -> dict[str, Figure]:
    """Draw the correlations against the threshold, XOR-mask on the left and AND-mask on the right (figure 3.7)."""
    figure, all_axes = panels(
        3,
        caption="Correlation of the combined gradient with that of the mechanism alone and of the shortcuts alone, "
        f"over the components that are left, where {ENOUGH} or more are; median over seeds with range. The XOR-mask at "
        "threshold 0 leaves nothing, the AND-mask everything. Right: share of components that is left.",
        height=2.8,
    )
    for axes, method, title in zip(all_axes, ("xor-mask", "and-mask"), ("XOR-mask", "AND-mask"), strict=False):
        for signal, role in (("mechanism", "ours"), ("shortcut", "baseline")):
            band(axes, *curves(telling(rows, method), "threshold", signal), signal, COLOURS[role])
        axes.set(title=title, xlabel="threshold", ylim=(-0.2, 1.02), xlim=(0, 1))
    all_axes[0].set_ylabel("correlation")
    all_axes[1].legend(loc="lower left")
    for method, role in (("and-mask", "ink"), ("xor-mask", "reference")):
        band(all_axes[2], *curves(where(rows, method=method), "threshold", "survivors"), method, COLOURS[role])
    all_axes[2].set(title="components left", xlabel="threshold", ylim=(0, 1.02), xlim=(0, 1))
    all_axes[2].legend(loc="center right")
    return {"correlations": figure}


def telling(rows: Sequence[Row], method: str, layer: str = "") -> list[Row]:
    """Return a method's rows in which enough components are left, of all or of the layer "first_", to say something."""
    keys = (f"{layer}mechanism", f"{layer}shortcut")
    some = [row for row in where(rows, method=method) if number(row, f"{layer}left") >= ENOUGH]
    return [row for row in some if all(row[key] is not None for key in keys)]


def strictest(rows: Sequence[Row], method: str, layer: str = "") -> list[Row]:
    """Return each seed's row of the strictest mask that tells: the AND-mask's greatest threshold, the XOR-mask's least."""
    groups = by_seed(telling(rows, method, layer)).values()
    ordered = [sorted(group, key=lambda row: number(row, "threshold")) for group in groups]
    return [group[-1 if method == "and-mask" else 0] for group in ordered]


def lead(rows: Sequence[Row]) -> Measurement | None:
    """Return by how much the correlation with the mechanism exceeds that with the shortcuts; median over seeds."""
    leads = [number(row, "mechanism") - number(row, "shortcut") for row in rows]
    return bootstrap(leads) if leads else None


def change(rows: Sequence[Row], method: str, signal: str, layer: str = "") -> Measurement | None:
    """Return a correlation's change from averaging to the strictest mask that tells; median over seeds."""
    changes: list[float] = []
    for group in by_seed(rows).values():
        averages, ends = where(group, method="and-mask", threshold=0.0), strictest(group, method, layer)
        key = layer + signal
        changes += [number(end, key) - number(average, key) for average, end in zip(averages, ends, strict=False)]
    return bootstrap(changes) if changes else None


def sharper(rows: Sequence[Row]) -> Measurement | None:
    """Return the XOR-mask's change of the mechanism's correlation less that of the shortcuts', at the strictest mask."""
    both = [(change(group, "xor-mask", "mechanism"), change(group, "xor-mask", "shortcut")) for group in by_seed(rows).values()]
    differences = [mechanism.value - shortcut.value for mechanism, shortcut in both if mechanism and shortcut]
    return bootstrap(differences) if differences else None


_SOURCE = "thesis section 3.3.1 and figure 3.7; paper section 3.1 and figure 7"
_NEAR_ONE = f"the greatest threshold that leaves {ENOUGH} components or more"

_TRIED = (
    "Shortcuts of standard deviation 0.1, 0.316 (the variance 0.1) and 1; He-normal and PyTorch's initial weights; 64 and 1024 "
    "examples of each environment; an output without offset; weights without biases. Seeds differ in the sign, in the first "
    "layer, where shortcuts have weights of their own, too; what survives in later layers goes with both signals."
)

CLAIMS = (
    Claim(
        id="gradient-correlation.average-mechanism",
        text="The mechanism's signal is present in the average gradient: its correlation is about 0.4 at threshold 0.",
        source=_SOURCE,
        printed="about 0.4",
        measure=OverSeeds("mechanism", (("method", "and-mask"), ("threshold", 0.0))),
        holds=lambda measured: abs(measured.value - 0.4) <= 0.1,
        condition="median over seeds within 0.1 of 0.4",
        tried="It hangs on the scale of the shortcuts, of which the texts say N(0, 0.1), and on the initial weights. With 0.1 "
        "as the standard deviation, as here, 0.8; as the variance (--shortcut-scale 0.316) 0.8, and 0.3 with PyTorch's initial "
        "weights (--init default), where most of what remains at great thresholds is the shortcuts' signal.",
    ),
    Claim(
        id="gradient-correlation.drowned",
        text="In the average gradient the mechanism's signal is smaller than the shortcuts'.",
        source=_SOURCE,
        printed="below 0",
        measure=lambda rows: lead(where(rows, method="and-mask", threshold=0.0)),
        holds=lambda measured: measured.high < 0,
        condition="correlation with the mechanism less that with the shortcuts below 0, its interval too",
        tried=_TRIED,
    ),
    Claim(
        id="gradient-correlation.and-suppresses",
        text="Raising the AND-mask's threshold suppresses the shortcuts' gradients.",
        source=_SOURCE,
        printed="below 0",
        measure=lambda rows: change(rows, "and-mask", "shortcut"),
        holds=lambda measured: measured.high < 0,
        condition=f"change of the correlation with the shortcuts from threshold 0 to {_NEAR_ONE} below 0, its interval too",
        tried=_TRIED,
    ),
    Claim(
        id="gradient-correlation.and-suppresses-first",
        text="In the weights of the first layer, which belong to single inputs, it does.",
        source="our reading of thesis figure 3.7",
        printed=None,
        measure=lambda rows: change(rows, "and-mask", "shortcut", "first_"),
        holds=lambda measured: measured.high < 0,
        condition=f"the same change in the first layer's weights, from threshold 0 to {_NEAR_ONE} of them, below 0, its "
        "interval too",
        tried=_TRIED,
    ),
    Claim(
        id="gradient-correlation.and-keeps",
        text="At a threshold near 1 most of what remains is the mechanism's signal.",
        source=_SOURCE,
        printed="above 0",
        measure=lambda rows: lead(strictest(rows, "and-mask")),
        holds=lambda measured: measured.low > 0,
        condition=f"correlation with the mechanism less that with the shortcuts above 0 at {_NEAR_ONE}, its interval too",
        tried=_TRIED,
    ),
    Claim(
        id="gradient-correlation.xor",
        text="The XOR-mask makes the correlation with the mechanism fall more sharply than with the shortcuts.",
        source=_SOURCE,
        printed="below 0",
        measure=sharper,
        holds=lambda measured: measured.high < 0,
        condition="change of the mechanism's correlation less that of the shortcuts', at the least threshold that leaves "
        f"{ENOUGH} components or more, below 0, its interval too",
        tried=_TRIED,
    ),
)
