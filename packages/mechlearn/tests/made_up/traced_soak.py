"""Random networks through the compiled step, and random sequences of what a training loop does, against the definition.

Run it: python traced_soak.py CASES FIRST RUNS INDUCTOR

A case is one step: a network, a batch, ids and a threshold. Each network is traced once, or twice where its number of rows
changes, and takes ten steps: tracing takes as long as sixty. INDUCTOR networks are compiled, and take one step each.
"""

import random
import sys
import time
import traceback
import warnings
from contextlib import nullcontext

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from compiled_oracles import assert_step
from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask, Mean
from traced_models import random_case, scattered

ROWS = 12


STEPS = 10
"""Cases of a network."""


def ids_of(rows, number, draw):
    """Ids of rows: in any order, or sorted and of equal numbers, or every row alone."""
    if number % STEPS == 2:
        return torch.arange(rows)
    if number % STEPS == 5:
        return torch.arange(3).repeat_interleave(rows // 3)
    return scattered(rows, draw.choice([2, 3, 4, 5, 7]), number)


def try_network(number, steps=STEPS, backend="aot_eager"):
    """Take steps of a random network; return why the eager engine took the last, None where the compiled one did.

    Every fourth network sees another number of rows on the way, and every fifth one is of float32.
    """
    model, losses_of, batch = random_case(number)
    dtype = torch.float32 if number % 5 == 4 else torch.float64
    model.to(dtype)
    decided = 0.1 if dtype == torch.float32 else 0.5
    agreement, draw = Agreement(model, AndMask(0.6)), random.Random(number)
    step = agreement.compile(losses_of, backend=backend)
    for case in range(STEPS * number, STEPS * number + steps):
        rows = 9 if number % 4 == 3 and case % STEPS > 7 else ROWS
        x, y = batch(rows, case)
        x = x.detach().to(dtype).requires_grad_(x.requires_grad)
        threshold = draw.choice(["0.6", "0.6", "0.4", "0.8", "1.0"])
        agreement.rule = AndMask(float(threshold))
        try:
            ids = ids_of(rows, case, draw)
            assert_step(step, model, losses_of, (x, y), ids, threshold, served=False, decided=decided)
        except Exception as error:
            error.add_note(f"network {number}, case {case}, threshold {threshold}")
            raise
    return step.reason


class Net(nn.Module):
    """A network with dropout, of which a part may be a checkpoint and another part compiled by the user."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop = nn.Linear(5, 8), nn.LayerNorm(8), nn.Dropout(0.3)
        self.middle, self.last = nn.Sequential(nn.Linear(8, 8), nn.GELU()), nn.Linear(8, 1)
        self.checkpointed = False

    def forward(self, x):
        h = self.drop(torch.tanh(self.norm(self.first(x))))
        h = checkpoint(self.middle, h, use_reentrant=False) if self.checkpointed else self.middle(h)
        return self.last(h)[:, 0]


class Run:
    """One run: a network, its agreement, and actions drawn one after another.

    Args:
        number: all that is drawn follows from it.
    """

    def __init__(self, number):
        self.draw = random.Random(number)
        torch.manual_seed(number)
        self.model = Net().double()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.agreement = Agreement(self.model, AndMask(0.6), verify=self.draw.choice([None, 1, 3]))
        self.step = self.agreement.compile(lambda x, y: self.losses(self.model, x, y), backend="aot_eager")
        self.means = Agreement(self.model, Mean()).compile(lambda x, y: self.losses(self.model, x, y), backend="aot_eager")
        self.compiled = torch.compile(self.model, backend="aot_eager")
        self.rows, self.autocast = ROWS, False

    def losses(self, model, x, y):
        return (model(x).to(x.dtype) - y).square()

    def batch(self):
        seed = self.draw.randrange(1000)
        generator = torch.Generator().manual_seed(seed)
        x, y = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((self.rows, 5), (self.rows,)))
        return (x, y), scattered(self.rows, self.draw.choice([2, 3, 5]), seed)

    def act(self):
        """Do one thing, and return its name."""
        action = self.draw.choice(ACTIONS)
        cast = torch.autocast("cpu", torch.bfloat16) if self.autocast else nullcontext()
        self.optimizer.zero_grad()
        with cast:
            action(self)
        if any(p.grad is not None for p in self.model.parameters()):
            self.optimizer.step()
        return action.__name__

    @property
    def exact(self):
        return not self.autocast and not self.model.training

    def ordinary(self):
        (x, y), _ = self.batch()
        self.losses(self.draw.choice([self.model, self.compiled]), x, y).mean().backward()

    def evaluated(self):
        (x, _), _ = self.batch()
        with torch.no_grad():
            self.draw.choice([self.model, self.compiled])(x)

    def agreed(self):
        (x, y), ids = self.batch()
        losses = self.losses(self.model, x, y)
        assert_definition(self.agreement, losses, ids) if self.exact else self.agreement.backward(losses, ids)

    def agreed_over_a_compiled_model(self):
        (x, y), ids = self.batch()
        record = self.agreement.backward(self.losses(self.compiled, x, y), ids)
        if self.exact:
            self.assert_same(record, x, y, ids)

    def agreed_by_the_compiled_step(self):
        (x, y), ids = self.batch()
        record = self.step(x, y, environments=ids)
        if self.exact:
            self.assert_same(record, x, y, ids)

    def averaged(self):
        (x, y), ids = self.batch()
        self.means(x, y, environments=ids)

    def accumulated(self):
        for offset in (0, 10, 20):
            (x, y), ids = self.batch()
            if offset == 10:
                self.step.accumulate(x, y, environments=ids + offset)
            elif offset == 0:
                self.agreement.accumulate(self.losses(self.model, x, y), ids + offset)
            else:
                self.step(x, y, environments=ids + offset)

    def other_rows(self):
        self.rows = self.draw.choice([6, 9, 12])

    def other_mode(self):
        self.model.train(not self.model.training)

    def other_precision(self):
        self.autocast = not self.autocast

    def other_memory(self):
        self.model.checkpointed = not self.model.checkpointed

    def assert_same(self, record, x, y, ids):
        """Compare with the definition, by an agreement of its own on an ordinary graph."""
        found = [p.grad for p in self.model.parameters()]
        assert all(path in ("compiled", "per-environment", "layer") for path in record.paths.values())
        self.model.zero_grad()
        assert_definition(Agreement(self.model, AndMask(0.6)), self.losses(self.model, x, y), ids)
        for gradient, p in zip(found, self.model.parameters(), strict=True):
            torch.testing.assert_close(gradient, p.grad, rtol=1e-8, atol=1e-12)


ACTIONS = [
    Run.ordinary, Run.evaluated, Run.agreed, Run.agreed_over_a_compiled_model, Run.agreed_by_the_compiled_step, Run.averaged,
    Run.accumulated, Run.other_rows, Run.other_mode, Run.other_precision, Run.other_memory,
]  # fmt: skip


def try_run(number, actions=10):
    """Play a run; an error says which actions led to it."""
    run, played = Run(number), []
    try:
        for _ in range(actions):
            played.append("?")
            played[-1] = run.act()
    except Exception as error:
        error.add_note(f"run {number} after {', '.join(played)}")
        raise
    finally:
        torch._dynamo.reset()


def main():
    cases, first, runs, compiled = (int(argument) for argument in sys.argv[1:5])
    warnings.simplefilter("ignore")
    started, eager, networks = time.monotonic(), 0, -(-cases // STEPS)
    wrong = 0

    def said(count):
        seconds = time.monotonic() - started
        return f"{STEPS * count} cases of {count} networks, {eager} of them by the eager engine, {wrong} wrong, {seconds:.0f} s"

    def tried(number, **settings):
        nonlocal eager, wrong
        try:
            eager += try_network(number, **settings) is not None
        except Exception:
            traceback.print_exc()
            wrong += 1

    for count, number in enumerate(range(first, first + networks), 1):
        tried(number)
        if count % 20 == 0:
            torch._dynamo.reset()
        if count % 100 == 0:
            print(said(count), flush=True)
    print(said(networks), flush=True)
    eager = 0
    for number in range(first, first + compiled):
        tried(number, steps=1, backend="inductor")
        torch._dynamo.reset()
    print(f"{compiled} networks through Inductor, {eager} of them by the eager engine, {wrong} wrong in all", flush=True)
    for number in range(first, first + runs):
        try_run(number)
    print(f"{runs} runs, {time.monotonic() - started:.0f} s")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
