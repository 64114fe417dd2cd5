"""Rules that test for conflict: time over the AND-mask's step and over plain backpropagation.

Every rule does the same step on the same problem, interleaved with the others: forward pass, backward pass, rule. `ratio` is
over plain backpropagation as in `agreement`, `over_and_mask` over the AND-mask, each formed within a round; `low` and `high`
are the first one's range. Two rows use the compiled kernels, of which the second is over the first: where no compiler is found
they are left out. Environments have many examples here, since a standard error takes two: 16 of 128 rows on the
perceptron, 8 of 16 images on ResNet-20, 8 of 8 sequences on a small language model with RMSNorm and embeddings. Memory is not
measured: the rules hold one more sum of a parameter's size than the AND-mask, and 2 E more with memory.

PCGrad asks the same question of whole gradients, pair by pair: a cost that is quadratic in what is compared (thesis section
3.4). It is timed beside the AND-mask alone, on a perceptron with 4, 16, 64 and 256 environments of one batch of 1,024 rows.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own habit
from mechlearn_zoo_benchmarks.entrants.masks.networks import initialise, resnet
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, threads, turn
from torch import Generator, Tensor, nn

from claimlab import Row
from mechlearn.agreement import Agreement, AndMask, Homogeneous, Qualitative, Rule, StandardErrors
from mechlearn.agreement.kernels.compiled import load
from mechlearn.agreement.kernels.library import BuildError
from mechlearn.nn.perceptrons import mlp
from mechlearn.penalties import pcgrad_gradients
from mechlearn_zoo.tasks.boards.spirals import HeldOut, spirals

Announce = Callable[[str], None]

PLAIN, AND_MASK, COMPILED = "plain backprop", "mechlearn AND-mask", ", compiled"

RULES: dict[str, Rule] = {
    AND_MASK: AndMask(1.0),
    "mechlearn conflict": Qualitative(0.2),
    "mechlearn conflict, every third step": Qualitative(0.2, errors=StandardErrors(every=3)),
    "mechlearn conflict, memory": Qualitative(0.2, errors=StandardErrors(memory=0.75, every=3)),
    "mechlearn conflict, Cochran": Homogeneous(0.05),
    AND_MASK + COMPILED: AndMask(1.0),
    "mechlearn conflict" + COMPILED: Qualitative(0.2),
}
"""By the name that rows have; those that end so use the compiled kernels."""

PCGRAD = "PCGrad"
PAIRS = "pairs-"
"""What workloads are called on which cosines of pairs are timed; the number of environments follows."""


class LanguageModel(nn.Module):
    """Embedding, two blocks of RMSNorm, causal attention and a perceptron, and a head: what a small Llama is made of."""

    def __init__(self, words: int, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(words, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(5))
        self.projections = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.outs = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.ups = nn.ModuleList(nn.Linear(width, 4 * width, bias=False) for _ in range(2))
        self.downs = nn.ModuleList(nn.Linear(4 * width, width, bias=False) for _ in range(2))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return (B, T, words) logits."""
        h = self.embedding(tokens)
        for block in range(2):
            q, k, v = self.projections[block](self.norms[2 * block](h)).chunk(3, -1)
            q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            h = h + self.outs[block](mixed)
            h = h + self.downs[block](F.silu(self.ups[block](self.norms[2 * block + 1](h))))
        return self.head(self.norms[4](h))


def perceptron(small: bool, seed: int) -> Problem:
    """Return the thesis' spirals: 34-256x3-1, 16 environments of 128 examples."""
    environments, examples, hidden = (4, 8, 16) if small else (16, 128, 256)
    data = spirals(seed, environments, examples, held_out=HeldOut(1, test_examples=1)).train
    model = mlp(34, 1, Generator().manual_seed(seed), hidden, 3)
    return Problem(model, lambda o, y: F.binary_cross_entropy_with_logits(o[:, 0], y, reduction="none"), *data, 1.0)


def pairs(environments: int) -> Callable[[bool, int], Problem]:
    """Return what makes the perceptron's problem with so many environments of one batch."""

    def problem(small: bool, seed: int) -> Problem:
        rows, hidden = (2 * environments, 8) if small else (1024, 64)
        data = spirals(seed, environments, rows // environments, held_out=HeldOut(1, test_examples=1)).train
        model = mlp(34, 1, Generator().manual_seed(seed), hidden, 3)
        return Problem(model, lambda o, y: F.binary_cross_entropy_with_logits(o[:, 0], y, reduction="none"), *data, 1.0)

    return problem


def images(small: bool, seed: int) -> Problem:
    """Return ResNet-20 with GroupNorm, 8 environments of 16 images."""
    generator = Generator().manual_seed(seed)
    environments, examples, size = (2, 3, 8) if small else (8, 16, 32)
    model = initialise(resnet(blocks=1, width=8) if small else resnet(), generator)
    x = torch.randn(environments * examples, 3, size, size, generator=generator)
    y = torch.randint(0, 10, (len(x),), generator=generator)
    ids = torch.arange(environments).repeat_interleave(examples)
    return Problem(model, lambda o, y: F.cross_entropy(o, y, reduction="none"), x, y, ids, 1.0)


def language(small: bool, seed: int) -> Problem:
    """Return the language model, 8 environments of 8 sequences of 64 tokens."""
    torch.manual_seed(seed)
    words, width, length = (20, 16, 6) if small else (1000, 128, 64)
    tokens = torch.randint(0, words, (64, length + 1), generator=Generator().manual_seed(seed))
    x, y = tokens[:, :-1], tokens[:, 1:]
    ids = torch.arange(8).repeat_interleave(8)
    return Problem(LanguageModel(words, width), lambda o, y: F.cross_entropy(o.mT, y, reduction="none").mean(1), x, y, ids, 1.0)


WORKLOADS: dict[str, Callable[[bool, int], Problem]] = {
    "mlp-34": perceptron,
    "resnet20": images,
    "language": language,
    **{f"{PAIRS}{count}": pairs(count) for count in (4, 16, 64, 256)},
}


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    workloads: tuple[str, ...] = tuple(WORKLOADS)
    """Which workloads to run: mlp-34, resnet20, language, pairs-4, pairs-16, pairs-64, pairs-256."""
    repeats: int = 7
    """How many interleaved rounds."""
    turn: float = 0.25
    """Seconds over which a turn repeats a step: three steps or more, so that masks of every third step are decided in each."""
    clock: Literal["wall", "cpu"] = "wall"
    """Elapsed time, or processor time with one thread: what to take on a machine that other work shares."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of data, weights and the order within rounds."""
    small: bool = False
    """Shrink the workloads to the size of a test; their ratios mean nothing."""


PRESETS = {"full": Config(), "quick": Config(repeats=2, turn=0.01, small=True)}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every rule on every workload."""
    rules = [name for name in RULES if not name.endswith(COMPILED) or _compiles(announce)]
    with threads(config.threads):
        for name in config.workloads:
            yield from _workload(name, [AND_MASK, PCGRAD] if name.startswith(PAIRS) else rules, config, announce)


def _compiles(announce: Announce) -> bool:
    """Build the kernels, or find them in the cache, before the clock starts."""
    try:
        load()
    except BuildError as reason:
        announce(f"no compiled kernels: {reason}")
        return False
    return True


def _workload(name: str, rules: Sequence[str], config: Config, announce: Announce) -> Iterator[Row]:
    problem = WORKLOADS[name](config.small, config.seed)
    problems = {PLAIN: problem.copy(), **{rule: problem.copy() for rule in rules}}
    steps: dict[str, Step] = {PLAIN: lambda: problems[PLAIN].losses().mean().backward()}
    for rule in rules:
        steps[rule] = _thrice(problems[rule], rule)
    steps[PLAIN] = _repeated(problems[PLAIN], steps[PLAIN])
    clean = {key: one.clean for key, one in problems.items()}
    for key, step in steps.items():
        announce(f"{name}: {key} warms up")
        turn(step, clean[key], 0.0, config.clock)
    announce(f"{name}: {config.repeats} rounds")
    rounds = dict.fromkeys(steps, config.repeats)
    times = interleaved(steps, clean, rounds, config.turn, Generator().manual_seed(config.seed), config.clock)
    for key in steps:
        over = [one / other for one, other in zip(times[key], times[PLAIN], strict=True)]
        same = AND_MASK + COMPILED if key.endswith(COMPILED) else AND_MASK
        mask = [one / other for one, other in zip(times[key], times[same], strict=True)]
        yield {
            "workload": name,
            "method": key,
            "ratio": statistics.median(over),
            "low": min(over),
            "high": max(over),
            "over_and_mask": statistics.median(mask),
            "memory_ratio": None,
            "exact": None,
            "note": "" if key in (PLAIN, same) else f"{statistics.median(mask):.2f} of the AND-mask's step",
            "seconds": statistics.median(times[key]) / 3,
            "clock": config.clock,
            "threads": config.threads,
            "seed": config.seed,
            "small": config.small,
        }


def _thrice(problem: Problem, name: str) -> Step:
    if name == PCGRAD:
        return _repeated(problem, lambda: _pcgrad(problem))
    kernel = "compiled" if name.endswith(COMPILED) else "torch"
    agreement = Agreement(problem.model, RULES[name], kernel=kernel)
    return _repeated(problem, lambda: agreement.backward(problem.losses(), problem.environments))


def _pcgrad(problem: Problem) -> None:
    found = pcgrad_gradients(problem.losses(), problem.environments, problem.parameters, Generator().manual_seed(0))
    for parameter, gradient in zip(problem.parameters, found, strict=True):
        parameter.grad = gradient / problem.count


def _repeated(problem: Problem, step: Step) -> Step:
    """Take three steps, as a rule may decide its masks in every third."""

    def three() -> object:
        for _ in range(3):
            problem.clean()
            step()
        return None

    return three
