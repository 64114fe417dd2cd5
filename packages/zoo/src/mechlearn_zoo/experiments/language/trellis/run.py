"""Trellis networks: the theorem in numbers, digits pixel by pixel in a fixed random order, and code as a language."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import torch
from annotated_types import Ge, MinLen
from sklearn.datasets import load_digits  # pyright: ignore[reportMissingTypeStubs]  # it ships none
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from claimlab import Halves, Limited, Positive, Preset, Row, computed
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.learners.descent import descend, kept_steps
from mechlearn_zoo.learners.evaluation import parameters
from mechlearn_zoo.methods.language.trellis import Trellis, TrellisNet, from_recurrent
from mechlearn_zoo.methods.language.vocabulary import Vocabulary, packed
from mechlearn_zoo.tasks.streams import same_stream
from mechlearn_zoo.tasks.text.code_tokens import code_tokens

Model = Literal["trellis", "untied", "lstm"]
Count = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of splits, orders, weights and batches."""
    models: Annotated[tuple[Model, ...], MinLen(1)] = ("trellis", "untied", "lstm")
    """One set of weights for all levels; one for each; an LSTM of as many parameters as the first."""
    hidden: Annotated[int, Ge(2)] = 32
    """Units of the trellis network."""
    levels: Count = 15
    """Its levels; with the dilations they see 93 pixels, more than there are."""
    dilations: Annotated[tuple[Count, ...], MinLen(1)] = (1, 2, 4, 8, 16)
    """Of its levels, in turn."""
    epochs: Count = 12
    """On digits."""
    batch: Count = 64
    """Sequences of a step."""
    learning_rate: Positive = 5e-3
    """Adam's, a tenth of it in the last quarter."""
    code_steps: Annotated[int, Ge(0)] = 300
    """Steps on code; 0 leaves it out."""
    modules: Annotated[int, Ge(2)] = 20
    """Modules of the standard library; the last tenth is held out."""
    words: Annotated[int, Ge(2)] = 500
    """Words of code."""
    window: Annotated[int, Ge(2)] = 48
    """Tokens of a sequence of code."""


PAPER = Config(
    hidden=256, levels=60, epochs=60, learning_rate=1e-3, code_steps=20_000, modules=200, words=5000, window=128
)  # fmt: skip
PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(PAPER, seeds=5)}


class Untied(nn.Module):
    """A temporal convolution of the same gates, dilations and width, with weights of each level's own.

    Its cell is not carried from the level below: that takes weights in common.
    """

    def __init__(self, inputs: int, config: Config, generator: Generator) -> None:
        super().__init__()
        self.dilations = [config.dilations[level % len(config.dilations)] for level in range(config.levels)]
        sizes = [inputs] + [inputs + config.hidden] * (config.levels - 1)
        self.layers = nn.ModuleList(linear(2 * size, 3 * config.hidden, "default", generator) for size in sizes)

    def forward(self, x: Tensor) -> Tensor:
        """Return h of the last level, (b, t, hidden)."""
        h = x
        for level, layer in enumerate(self.layers):
            z = h if level == 0 else torch.cat([x, h], -1)
            d = self.dilations[level]
            before = nn.functional.pad(z, (0, 0, d, 0))[:, :-d]
            i, o, g = layer(torch.cat([before, z], -1)).chunk(3, -1)
            h = o.sigmoid() * torch.tanh(i.sigmoid() * g.tanh())
        return h


class Recurrent(nn.Module):
    """An LSTM."""

    def __init__(self, inputs: int, units: int, generator: Generator) -> None:
        super().__init__()
        with torch.device("meta"):
            self.lstm = nn.LSTM(inputs, units, batch_first=True)
        self.to_empty(device="cpu")
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(units**-0.5), units**-0.5, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Return h, (b, t, units)."""
        return self.lstm(x)[0]


class Tied(nn.Module):
    """A trellis network, its output only."""

    def __init__(self, inputs: int, config: Config, generator: Generator) -> None:
        super().__init__()
        trellis = Trellis(config.levels, dilations=config.dilations)
        self.net = TrellisNet(inputs, config.hidden, config.hidden, trellis, generator, spread=config.hidden**-0.5 / 2)
        self.net.truncated = True  # code is longer than its reach in small settings, and may be

    def forward(self, x: Tensor) -> Tensor:
        """Return h of the last level, (b, t, hidden)."""
        return self.net(x).output


class Reader(nn.Module):
    """A sequence model between what is put in and what is asked of it.

    Args:
        config: sizes.
        name: which model.
        inputs: numbers at a time; words of a vocabulary if ``embedded``.
        outputs: classes.
        generator: of the initial weights.
        embedded: inputs are ids.
    """

    def __init__(
        self, config: Config, name: Model, inputs: int, outputs: int, generator: Generator, embedded: bool = False
    ) -> None:
        super().__init__()
        width = config.hidden if embedded else inputs
        self.embedding = nn.Embedding.from_pretrained(
            torch.randn(inputs, width, generator=generator) * width**-0.5, freeze=False
        ) if embedded else nn.Identity()  # fmt: skip
        if name == "trellis":
            self.body, units = Tied(width, config, generator), config.hidden
        elif name == "untied":
            self.body, units = Untied(width, config, generator), config.hidden
        else:
            units = equal_units(width, config)
            self.body = Recurrent(width, units, generator)
        self.head = linear(units, outputs, "default", generator)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits at every time, (b, t, classes)."""
        return self.head(self.body(self.embedding(x)))


def equal_units(inputs: int, config: Config) -> int:
    """Return an LSTM's units that take as many parameters as the trellis network's."""
    wanted = 4 * config.hidden * (2 * inputs + 2 * config.hidden + 1)
    units = 1
    while 4 * units * (inputs + units + 2) < wanted:
        units += 1
    return units


def theorem(seed: int) -> Row:
    """Return the greatest difference between an LSTM of two layers restarted 5 steps back and its trellis network."""
    generator = Generator().manual_seed(seed)
    with torch.random.fork_rng():
        network = nn.LSTM(3, 8, 2, batch_first=True).double()
    for parameter in network.parameters():
        nn.init.normal_(parameter, 0.0, 0.5, generator=generator)
    x = torch.randn(4, 12, 3, dtype=torch.float64, generator=generator)

    def gap(net: TrellisNet) -> float:
        windows = [network(x[:, max(0, t - 4) : t + 1])[0][:, -1] for t in range(x.shape[1])]
        return float((net(x).output - torch.stack(windows, 1)).detach().abs().max())

    with torch.no_grad():
        warm = gap(from_recurrent(network, 5, warm=True))
        upper = dict(network.named_parameters())
        candidates = [upper[name].chunk(4)[2] for name in ("bias_ih_l1", "bias_hh_l1")]
        total = torch.stack(candidates).sum(0)
        for bias in candidates:
            bias.zero_()
        net = from_recurrent(network, 5)
        zero = gap(net)
        candidates[0].copy_(total)
        net.bias[2 * 16 + 8 : 3 * 16] = total  # as the restated theorem has it
        return {"kind": "theorem", "zero": zero, "biased": gap(net), "warm": warm}


class Data(NamedTuple):
    """Sequences with a target for each (digits) or at each time (code)."""

    x: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor


def digits(seed: int) -> Data:
    """Return scikit-learn's digits, 64 pixels in one random order for all, a fifth held out."""
    found: Any = load_digits()
    generator = Generator().manual_seed(seed)
    x = torch.as_tensor(found.data, dtype=torch.float32)[:, torch.randperm(64, generator=generator), None] / 16
    y, order = torch.as_tensor(found.target), torch.randperm(len(x), generator=generator)
    cut = len(x) // 5
    return Data(x[order[cut:]], y[order[cut:]], x[order[:cut]], y[order[:cut]])


def code(config: Config) -> Data:
    """Return windows of the standard library's source, the last tenth of modules held out."""
    found = code_tokens(modules=config.modules)
    cut = max(1, len(found.tokens) // 10)
    vocabulary = Vocabulary.of(found.tokens[:-cut], most=config.words)
    ids = [[vocabulary.ids(file) for file in files] for files in (found.tokens[:-cut], found.tokens[-cut:])]
    train, test = (packed(some, config.window + 1) for some in ids)
    return Data(train[:, :-1], train[:, 1:], test[:500, :-1], test[:500, 1:])


def losses(logits: Tensor, y: Tensor) -> Tensor:
    """Return each sequence's loss: at its end where there is one target, else at every time."""
    if y.dim() == 1:
        return cross_entropy(logits[:, -1], y, reduction="none")
    return cross_entropy(logits.transpose(1, 2), y, reduction="none").mean(1)


def right(logits: Tensor, y: Tensor) -> Tensor:
    """Return 1 for each sequence whose class is the likeliest at its end."""
    return (logits[:, -1].argmax(1) == y).float()


def fit(config: Config, model: nn.Module, data: Data, steps: int, name: Literal["accuracy", "nll"]) -> Row:
    """Train on batches drawn from the data; return what is measured, and that where either half of the test stops the other."""
    measure = right if name == "accuracy" else losses
    halves = Halves(best="highest" if name == "accuracy" else "lowest")
    optimizer = torch.optim.Adam(model.parameters(), config.learning_rate)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * steps)], gamma=0.1)
    generator = same_stream(config.seed)
    for step in kept_steps("training", steps, model, optimizer, scheduler, generator, halves):
        rows = torch.randint(len(data.x), (config.batch,), generator=generator)
        descend(optimizer, losses(model(data.x[rows]), data.y[rows]).mean(), scheduler, clip=1.0)
        if halves.due(share := (step + 1) / steps):
            halves.look(share, name, evaluated(model, data, measure))
    return {name: float(evaluated(model, data, measure).mean()), **halves.row}


def run(config: Config) -> Iterator[Row]:
    """Yield the theorem's row, then each model's on digits and on code."""
    yield theorem(config.seed)
    pixels = digits(config.seed)
    steps = config.epochs * (len(pixels.x) // config.batch)
    for name in config.models:
        yield computed(f"digits, {name}", on_digits, config, name, pixels, steps)
    if not config.code_steps:
        return
    text = code(config)
    vocabulary = int(max(text.x.max(), text.test_x.max())) + 1
    for name in config.models:
        yield computed(f"code, {name}", on_code, config, name, text, vocabulary)


def on_digits(config: Config, name: Model, pixels: Data, steps: int) -> Row:
    """Return a model's row on digits."""
    model = Reader(config, name, 1, 10, same_stream(config.seed))
    found = fit(config, model, pixels, steps, "accuracy")
    return {"kind": "digits", "model": name, **found, "parameters": parameters(model.body), "budget": steps}


def on_code(config: Config, name: Model, text: Data, vocabulary: int) -> Row:
    """Return a model's row on code."""
    model = Reader(config, name, vocabulary, vocabulary, same_stream(config.seed), embedded=True)
    found = fit(config, model, text, config.code_steps, "nll")
    return {"kind": "code", "model": name, **found, "parameters": parameters(model.body), "budget": config.code_steps}


@torch.no_grad()
def evaluated(model: nn.Module, data: Data, measure: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return a measure of each held-out sequence."""
    parts = zip(data.test_x.split(200), data.test_y.split(200), strict=True)
    return torch.cat([measure(model(x), y) for x, y in parts])
