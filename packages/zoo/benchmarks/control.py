"""Methods of control: time over a literal loop, and over the peers that compute the same in the same run.

`ratio` is over the literal loop of the workload, `over_peer` our time over torchrl's, each formed within a round, in seconds of
the processor. `exact` says whether the values agree with the loop's, float32 to 1e-4 of the largest. Workloads:

- V-trace and GAE, (T, B) as named; the loop goes through time with (B,) tensors; torchrl gets its own layout, made beforehand.
  A roll-out is checked when it is made, once; our time has that in it.
- PopArt's statistics for 640 targets of K tasks and the layer's rescaling; the loop is the paper's, a target at a time.
  torchrl's `PopArtValueNorm` keeps the statistics of one task and rescales nothing: it is timed a task at a time. `share` is
  our update over the learner's step (forward and backward pass of a torso of 256 units).
- A meta-gradient of ProMP over eight tasks, against a Python loop over the tasks.
- A step of reachability's memory, against a loop over environments.
- Capacity, disagreement, planning and posteriors on finite processes: see entrants/finite.py.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from mechlearn_zoo_benchmarks.entrants import finite
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError, installed, versioned
from mechlearn_zoo_benchmarks.measuring.settings import check_least
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, ratio, threads
from torch import Generator, Tensor
from torch.func import functional_call, grad

from claimlab import Row
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.methods.control import Batch, PopArtLinear, Rollout, gae, meta_objective, promp_objective, vtrace
from mechlearn_zoo.methods.control.reachability import Memory, Reachability, remember, similarity

Announce = Callable[[str], None]
OLDEST = (0, 14)
"""torchrl's oldest version that is compared with: before it the functions had other defaults, and no PopArtValueNorm."""
DISCOUNT, LAMBDA = 0.99, 0.95
LOOP, OURS, PEER = "literal loop", "mechlearn", "torchrl"


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    sizes: tuple[str, ...] = ("20x32", "100x32", "128x8", "1000x64", "100x2048")
    """T x B of the returns."""
    tasks: tuple[int, ...] = (8, 57)
    """K of PopArt."""
    repeats: int = 11
    """How many interleaved rounds."""
    turn: float = 0.1
    """Seconds over which a turn repeats a short step."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of values and of the order within rounds."""
    small: bool = False
    """Shrink the finite processes to the size of a test; their ratios mean nothing."""

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be."""
        check_least(self, 1, "repeats", "threads")


PRESETS = {"full": Config(), "quick": Config(sizes=("8x4",), tasks=(3,), repeats=2, turn=0.005, small=True)}


class Workload(NamedTuple):
    """What is timed by method, what each computes, and what else is said of ours."""

    name: str
    steps: dict[str, Step]
    extra: dict[str, Step] = {}  # noqa: RUF012  # never written to
    note: str = ""


def made(time: int, batch: int, seed: int) -> tuple[Rollout, Tensor, Tensor]:
    """Return a roll-out, values and log-probabilities."""
    generator = Generator().manual_seed(seed)
    draw = lambda: -torch.rand(time, batch, generator=generator)  # noqa: E731
    over = torch.rand(time, batch, generator=generator) < 0.02
    actions, rewards = torch.zeros(time, batch, dtype=torch.int64), torch.randn(time, batch, generator=generator)
    rollout = Rollout(torch.zeros(time + 1, batch, 1), actions, rewards, over, torch.zeros_like(over), draw())
    return rollout, torch.randn(time + 1, batch, generator=generator), draw()


def returns(size: str, seed: int) -> Iterator[Workload]:
    """Return V-trace and GAE at a size."""
    time, batch = map(int, size.split("x"))
    rollout, values, log_pi = made(time, batch, seed)
    fresh = lambda: replace(rollout)  # noqa: E731  # checked anew
    layout = [part.T[..., None].contiguous() for part in (log_pi, rollout.log_mu, values[:-1], values[1:])]
    layout += [part.T[..., None].contiguous() for part in (rollout.rewards, rollout.terminated, rollout.terminated)]
    peer, note = _torchrl()
    for name, ours, loop in (
        ("V-trace", lambda: vtrace(fresh(), values, log_pi, DISCOUNT)[:2], lambda: vtrace_loop(rollout, values, log_pi)),
        ("GAE", lambda: gae(fresh(), values, DISCOUNT, LAMBDA), lambda: gae_loop(rollout, values)),
    ):
        steps: dict[str, Step] = {LOOP: loop, OURS: ours}
        if peer is not None:
            steps[PEER] = _peer_step(peer, name, layout)
        yield Workload(f"{name}, T={time}, B={batch}", steps, note=note)


def _peer_step(peer: Any, name: str, layout: list[Tensor]) -> Step:  # noqa: ANN401  # a module
    if name == "GAE":
        return lambda: peer.generalized_advantage_estimate(DISCOUNT, LAMBDA, *layout[2:])[0][..., 0].T

    def step() -> tuple[Tensor, Tensor]:
        advantages, targets = peer.vtrace_advantage_estimate(DISCOUNT, *layout)
        return targets[..., 0].T, advantages[..., 0].T

    return step


def _torchrl() -> tuple[Any, str]:
    """Return torchrl's functions, or nothing and why."""
    try:
        found = installed("torchrl.objectives.value.functional", "pip install torchrl")
    except NotRunError as error:
        return None, f"torchrl: {error}"
    text = versioned("torchrl")
    version = tuple(int(part) for part in text.split()[-1].split(".")[:2])
    if version < OLDEST:
        return None, f"{text} is refused: older than {OLDEST[0]}.{OLDEST[1]}; pip install 'torchrl>={OLDEST[0]}.{OLDEST[1]}'"
    return found, text


def vtrace_loop(rollout: Rollout, values: Tensor, log_pi: Tensor) -> tuple[Tensor, Tensor]:
    """Return V-trace's targets and advantages by the paper's recursion, a step of time after the other."""
    ratio_ = (log_pi - rollout.log_mu).exp().clamp(max=1.0)
    going = 1.0 - rollout.terminated.to(values.dtype)
    following, targets, advantages = values[-1], [values[-1]], list[Tensor]()
    error = torch.zeros_like(values[-1])
    for t in range(rollout.steps - 1, -1, -1):
        delta = ratio_[t] * (rollout.rewards[t] + DISCOUNT * going[t] * values[t + 1] - values[t])
        advantages.append(ratio_[t] * (rollout.rewards[t] + DISCOUNT * going[t] * following - values[t]))
        error = delta + DISCOUNT * going[t] * ratio_[t] * error
        following = values[t] + error
        targets.append(following)
    return torch.stack(targets[:0:-1]), torch.stack(advantages[::-1])


def gae_loop(rollout: Rollout, values: Tensor) -> Tensor:
    """Return GAE's advantages, a step of time after the other."""
    going, out = 1.0 - rollout.terminated.to(values.dtype), list[Tensor]()
    last = torch.zeros_like(values[-1])
    for t in range(rollout.steps - 1, -1, -1):
        delta = rollout.rewards[t] + DISCOUNT * going[t] * values[t + 1] - values[t]
        last = delta + DISCOUNT * LAMBDA * going[t] * last
        out.append(last)
    return torch.stack(out[::-1])


def popart(count: int, seed: int) -> Workload:
    """Return PopArt's update for K tasks."""
    generator, beta = Generator().manual_seed(seed), 3e-4
    targets, tasks = torch.randn(640, generator=generator), torch.randint(count, (640,), generator=generator)
    head, torso = PopArtLinear(256, count, generator), relu_mlp((64, 256, 256), generator)
    observations = torch.randn(640, 64, generator=generator)
    kept = {name: value.clone() for name, value in head.state_dict().items()}

    def ours() -> tuple[Tensor, Tensor]:
        head.load_state_dict(kept)
        head.update(targets, tasks, beta)
        return head.mean.float(), head.second_moment.float()

    def learner() -> None:
        head(torso(observations), tasks).square().mean().backward()

    def loop() -> tuple[Tensor, Tensor]:
        mean, second = kept["mean"].tolist(), kept["second_moment"].tolist()
        for target, task in zip(targets.tolist(), tasks.tolist(), strict=True):
            mean[task] += beta * (target - mean[task])
            second[task] += beta * (target**2 - second[task])
        return torch.tensor(mean), torch.tensor(second)

    steps: dict[str, Step] = {LOOP: loop, OURS: ours}
    peer, note = _torchrl()
    if peer is not None:
        norms = [installed("torchrl.modules").PopArtValueNorm(shape=1, beta=1 - beta) for _ in range(count)]
        groups = [targets[tasks == task][:, None] for task in range(count)]
        steps[PEER] = lambda: [norm.update(group) for norm, group in zip(norms, groups, strict=True) if len(group)]
        note += ", statistics alone and one step a batch: other values"
    return Workload(f"PopArt, K={count}, 640 targets", steps, {"learner": learner}, note)


def promp(seed: int, tasks: int = 8) -> Workload:
    """Return a meta-gradient over tasks."""
    generator = Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(tasks, 20, 20, *shape, generator=generator)  # noqa: E731
    model = relu_mlp((2, 32, 32, 2), generator)
    params = {name: value.detach() for name, value in model.named_parameters()}
    before, after = (Batch(draw(2), draw(2), -draw().abs(), draw()) for _ in range(2))

    def log_probability(theta: dict[str, Tensor], observations: Tensor, actions: Tensor) -> Tensor:
        return -(actions - functional_call(model, theta, (observations,))).square().sum(-1) / 2

    def one(task: int) -> dict[str, Tensor]:
        own, then = (Batch(*(part[task] for part in batch)) for batch in (before, after))
        return grad(lambda theta: promp_objective(theta, log_probability, own, then))(params)

    def loop() -> Tensor:
        found = [one(task) for task in range(tasks)]
        return torch.cat([sum(each[name] for each in found).flatten() / tasks for name in params])

    def ours() -> Tensor:
        found = grad(lambda theta: meta_objective(theta, log_probability, before, after).mean())(params)
        return torch.cat([found[name].flatten() for name in params])

    return Workload(f"ProMP's meta-gradient, {tasks} tasks", {LOOP: loop, OURS: ours})


def episodic_memory(seed: int, batch: int = 32, capacity: int = 200, width: int = 32) -> Workload:
    """Return a step of reachability's full memories, against a loop over environments with numpy's percentile."""
    generator = Generator().manual_seed(seed)
    network = Reachability(torch.nn.Identity(), relu_mlp((2 * width, 32, 1), generator)).requires_grad_(False)
    entries, now = (torch.randn(batch, *shape, width, generator=generator) for shape in ((capacity,), ()))
    kept, new = Memory(entries, torch.full((batch,), capacity)), torch.ones(batch, dtype=torch.bool)

    def ours() -> Tensor:
        remember(kept, now, new, generator)
        return similarity(kept, now, network.similarity)

    def loop() -> Tensor:
        found = [network.similarity(now[b].expand(capacity, -1), entries[b]).numpy() for b in range(batch)]
        return torch.tensor([float(np.percentile(each, 90)) for each in found])

    return Workload(f"Episodic memory, {batch} environments, {capacity} entries", {LOOP: loop, OURS: ours})


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure all workloads.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(config.threads):
        workloads = [each for size in config.sizes for each in returns(size, config.seed)]
        workloads += [*(popart(count, config.seed) for count in config.tasks), promp(config.seed), episodic_memory(config.seed)]
        for workload in workloads:
            announce(f"control: {workload.name}")
            yield from _rows(workload, config)
        for name, make in finite.WORKLOADS.items():
            announce(f"control: {name}")
            yield from finite.rows(name, make, config)


def _rows(workload: Workload, config: Config) -> Iterator[Row]:
    steps = {**workload.steps, **workload.extra}
    rounds = dict.fromkeys(steps, config.repeats)
    orders = Generator().manual_seed(config.seed)
    times = interleaved(steps, dict.fromkeys(steps, lambda: None), rounds, config.turn, orders, clock="cpu")
    wanted = workload.steps[LOOP]()
    for method, step in workload.steps.items():
        found = ratio(times[method], times[LOOP])
        row: Row = {
            "workload": workload.name, "method": method, "ratio": found.median, "low": found.low, "high": found.high,
            "memory_ratio": None, "exact": _equal(step(), wanted), "seconds": statistics.median(times[method]),
            "rounds": found.rounds, "note": workload.note if method == PEER or (method == OURS and PEER not in steps) else "",
            "threads": config.threads, "seed": config.seed,
        }  # fmt: skip
        if method == OURS and PEER in steps:
            row["over_peer"] = ratio(times[OURS], times[PEER]).median
        if method == OURS and "learner" in steps:
            row["share"] = ratio(times[OURS], times["learner"]).median
        yield row


def _equal(found: Any, wanted: Any) -> bool | None:  # noqa: ANN401  # tensors or tuples of them
    if isinstance(wanted, Tensor):
        wanted, found = (wanted,), (found,)
    if not all(isinstance(part, Tensor) for part in found):
        return None
    pairs = zip(found, wanted, strict=True)
    return all(bool((mine - theirs).abs().max() <= 1e-4 * (1 + theirs.abs().max())) for mine, theirs in pairs)
