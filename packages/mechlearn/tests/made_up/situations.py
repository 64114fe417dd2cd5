"""Situations of a training loop put together at random, each against the definition: one backward pass an environment.

    PYTHONPATH=packages/mechlearn/tests/made_up:packages/mechlearn/tests/oracles \
        python packages/mechlearn/tests/made_up/situations.py [seconds] [first]

A situation is a model, a rule, ids, micro-batches, and what else people have in their loops: gradients that wait, hooks, scaled
losses, checkpoints, norms, a state that is loaded. Gradients and masks are the definition's, and the model is what it was.
`play` ends in an AssertionError that says which situation is not so.
"""

import random
import sys
import time
import warnings
from collections import Counter

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.checkpoint import checkpoint

import normalise_oracles
import oracles
from held_oracles import whole_gradients
from mechlearn.agreement import Agreement, AndMask, GeometricMean, Mean, XorMask
from small_models import MODELS, squared

RULES = {"mean": Mean, "and-mask": AndMask, "geometric mean": GeometricMean, "xor-mask": XorMask}
THRESHOLDS = ("0", "0.3", "0.6", "1")
NAMES = ([0, 1, 2, 3], [7, -2, 10**12, 3], ["Ulm", "Bonn", "Kiel", "Rom"], [("a", 1), ("a", 2), ("b", 1), ("b", 2)])
WAYS = ("whole", "whole", "held", "held", "end to end", "by environment")


class Block(nn.Module):
    """A block under two names, a parametrised one, a frozen one, and a pass that notes what it retains."""

    def __init__(self):
        super().__init__()
        block = nn.Linear(5, 5)
        self.blocks = nn.ModuleList([block, weight_norm(nn.Linear(5, 5)), block, nn.Linear(5, 5)])
        self.head = nn.Linear(5, 3)
        self.blocks[3].requires_grad_(False)
        self.checkpointed = self.retains = False

    def forward(self, x):
        h = x[:, 0]
        for block in self.blocks:
            h = torch.tanh(checkpoint(block, h, use_reentrant=False) if self.checkpointed else block(h))
        if self.retains and h.requires_grad:
            h.retain_grad()
            self.retained = h
        return self.head(h)


def made(draw):
    kind = draw.choice([*MODELS, "block", "block"])
    model = (Block if kind == "block" else MODELS[kind])().double()
    if kind == "block":
        model.checkpointed, model.retains = draw.random() < 0.3, draw.random() < 0.3
    return kind, model


def calls_of(draw, way, names):
    """(rows, ids) of each micro-batch; every environment is in it."""
    ids = [*names, *(draw.choice(names) for _ in range(draw.randint(0, 10)))]
    draw.shuffle(ids)
    rows = list(range(len(ids)))
    if way == "by environment":
        return [[k for k in rows if ids[k] == name] for name in names], ids
    cuts = sorted(draw.sample(range(1, len(ids)), min(len(ids) - 1, draw.randint(0, 3)))) if way != "whole" else []
    return [rows[one:other] for one, other in zip([0, *cuts], [*cuts, len(ids)], strict=True)], ids


def as_given(draw, ids):
    """Ids as people have them: a list, a tuple, a tensor or an array of integers."""
    if all(isinstance(name, int) for name in ids):
        return draw.choice([list, tuple, torch.tensor, lambda found: torch.tensor(found).numpy()])(ids)
    return list(ids)


def stepped(agreement, model, way, calls, scale):
    """Take a step the way that is asked for; calls are (x, y, ids)."""
    losses = [squared(model(x), y) * scale for x, y, _ in calls]
    if way == "end to end":
        ids = [name for *_, own in calls for name in (own.tolist() if hasattr(own, "tolist") else own)]
        return agreement.backward(torch.cat(losses), ids)
    hold = {"hold": True} if way == "held" else {}
    for one, (*_, ids) in zip(losses[:-1], calls[:-1], strict=True):
        agreement.accumulate(one, ids, **hold)
    return agreement.backward(losses[-1], calls[-1][2], **hold)


def play(seed):
    """Play a situation and return what it was."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    kind, model = made(draw)
    rule, threshold, scale = draw.choice(list(RULES)), draw.choice(THRESHOLDS), draw.choice([1.0, 1.0, 1024.0])
    way, norm = draw.choice(WAYS), draw.choice([None, None, None, "tensor", "model"])
    norm = None if way == "by environment" else norm  # an environment in two calls is whole, one that is alone joins nothing
    rows, ids = calls_of(draw, way, draw.choice(NAMES)[: draw.randint(2, 4)])
    x, y = torch.randn(len(ids), 2, 5).double(), torch.randn(len(ids), 3).double()
    calls = [(x[own], y[own], as_given(draw, [ids[k] for k in own])) for own in rows]
    said = f"situation {seed}: {kind}, {rule} at {threshold}, {way} in {len(calls)}, normalise={norm}, scale {scale}, ids {ids}"
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    literal = [(squared(model(one), other), [ids[k] for k in own]) for (one, other, _), own in zip(calls, rows, strict=True)]
    whole = whole_gradients(literal, list(named.values()))
    reached = [any_gradient(literal, p) for p in named.values()]
    stacks = dict(zip(named, whole, strict=True))
    stacks = normalise_oracles.normalised(stacks, norm) if norm else stacks
    agreement = Agreement(model, Mean() if rule == "mean" else RULES[rule](float(threshold)), normalise=norm, keep="masks")
    if draw.random() < 0.3:
        agreement.load_state_dict(agreement.state_dict())
    waiting = {name: torch.randn_like(p) for name, p in named.items()} if draw.random() < 0.3 else {}
    for name, gradient in waiting.items():
        named[name].grad = gradient.clone()
    hooked = draw.choice(list(named)) if draw.random() < 0.3 else None
    handle = named[hooked].register_hook(lambda gradient: 3 * gradient) if hooked else None
    before = [(name, id(p), p._version, p.requires_grad) for name, p in model.named_parameters()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = stepped(agreement, model, way, calls, scale)
    assert before == [(name, id(p), p._version, p.requires_grad) for name, p in model.named_parameters()], said
    for (name, parameter), is_reached in zip(named.items(), reached, strict=True):
        wanted, mask = oracles.combine(rule, stacks[name], threshold)
        wanted = wanted * (1 if norm else scale) * (3 if name == hooked else 1)
        if not is_reached:
            assert name not in record.masks, said
            wanted = torch.zeros_like(wanted)
        largest = float(stacks[name].abs().max())
        clear = ((stacks[name] == 0) | (stacks[name].abs() > 1e-11 * largest)).all(0)  # else its sign is rounding noise
        found = torch.zeros_like(wanted) if parameter.grad is None else parameter.grad
        off = (found - wanted - waiting.get(name, 0))[clear].abs()
        assert not off.numel() or float(off.max()) <= 1e-9 * scale * max(1.0, largest), f"{said}: {name} is off by {off.max()}"
        if is_reached:
            assert torch.equal(record.masks[name][clear], mask[clear]), f"{said}: the mask of {name}"
    if handle is not None:
        handle.remove()
    return f"{kind}, {way}"


def any_gradient(literal, parameter):
    found = [torch.autograd.grad(losses.sum(), parameter, retain_graph=True, allow_unused=True)[0] for losses, _ in literal]
    return any(gradient is not None for gradient in found)


def main(seconds=120.0, first=0):
    """Play situations for so long, and say of how many kinds they were."""
    torch.set_num_threads(1)
    end, tally, seed = time.monotonic() + seconds, Counter(), first
    while time.monotonic() < end:
        tally[play(seed)] += 1
        seed += 1
    print(f"{seed - first} situations of {len(tally)} kinds as the definition has them; the next is {seed}.")


if __name__ == "__main__":
    main(*(kind(word) for kind, word in zip((float, int), sys.argv[1:], strict=False)))
