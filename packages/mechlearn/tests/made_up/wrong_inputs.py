"""Wrong inputs of every public door of the agreement room, tried in a process without the tests' type checker.

`python wrong_inputs.py` prints a JSON list of {name, error, message, ours, touched}: what each ended in, whether mechlearn's
own code raised it, and whether a gradient was touched.
"""

import json
import sys
import traceback
import warnings

import numpy as np
import torch
from torch import nn

import mechlearn
from mechlearn.agreement import (
    AdamForm,
    Agreement,
    AndMask,
    GeometricMean,
    Heterogeneous,
    Homogeneous,
    MedianSign,
    Qualitative,
    Record,
    SandMask,
    SignalToNoiseMask,
    StandardErrors,
    Statistics,
    TemporalAndMaskAdam,
    TemporalMask,
    XorMask,
    by_input,
    combine,
    decay_masked,
)
from mechlearn.agreement.distributed.ddp import HookState, agreement_hook, combine_across_ranks
from mechlearn.agreement.distributed.sharded import combine_shards
from mechlearn.agreement.normalised import normalised
from mechlearn.agreement.rules import agreement_mask, required_count
from mechlearn.agreement.torchjd import aggregate, as_aggregator

IDS = [0, 0, 1, 1]
NONSENSE = {"None": None, "a number": 3, "a word": "and", "a list": [1, 2], "an array": np.ones(4), "a class": AndMask}


class Tried:
    """A model, and what is done to it."""

    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Linear(3, 1)
        self.x = torch.randn(4, 3)
        self.parameter = nn.Parameter(torch.ones(2))

    @property
    def losses(self):
        return self.model(self.x)[:, 0].square()

    def backward(self, losses=None, ids=IDS, rule=None, **settings):
        losses = self.losses if losses is None else losses
        return Agreement(self.model, AndMask() if rule is None else rule, **settings).backward(losses, ids)

    def adam(self, **settings):
        return TemporalAndMaskAdam([self.parameter], **settings)


def of_losses(t):
    reused = t.losses
    reused.sum().backward()
    t.model.zero_grad()
    yield "None", lambda: Agreement(t.model, AndMask()).backward(None, IDS)
    yield "a list of scalars", lambda: t.backward(list(t.losses))
    yield "a list of numbers", lambda: t.backward([1.0, 2.0, 3.0, 4.0])
    yield "an array", lambda: t.backward(t.losses.detach().numpy())
    yield "a number", lambda: t.backward(0.5)
    yield "a word", lambda: t.backward("losses")
    yield "a model", lambda: t.backward(t.model)
    yield "complex", lambda: t.backward(t.losses.to(torch.complex64))
    yield "integers", lambda: t.backward(torch.ones(4, dtype=torch.int64))
    yield "sparse", lambda: t.backward(t.losses.to_sparse())
    yield "reduced", lambda: t.backward(t.losses.mean())
    yield "two-dimensional", lambda: t.backward(t.losses[:, None])
    yield "of no examples", lambda: t.backward(t.losses[:0], [])
    yield "of no features", lambda: t.backward(t.losses[:, None][:, :0])
    yield "detached", lambda: t.backward(t.losses.detach())
    yield "a leaf", lambda: t.backward(torch.ones(4, requires_grad=True))
    yield "NaN", lambda: t.backward(t.losses * torch.tensor([1, 1, torch.nan, 1]))
    yield "infinite", lambda: t.backward(t.losses * torch.inf)
    yield "of another model", lambda: t.backward(nn.Linear(3, 1)(t.x)[:, 0])
    yield "whose graph is used up", lambda: t.backward(reused)
    yield "whose gradient is infinite", lambda: t.backward((t.losses - t.losses.detach()).abs().sqrt() + t.losses)


def of_ids(t):
    wrong = {
        "None": None,
        "a number": 3,
        "a word": "aabb",
        "bytes": b"aabb",
        "a set": {0, 1, 2, 3},
        "a dictionary": {0: 1, 1: 1, 2: 2, 3: 2},
        "a generator": (k for k in range(4)),
        "a function": range,
        "floats": [0.0, 0.0, 1.0, 1.0],
        "an array of floats": np.zeros(4),
        "a tensor of floats": torch.zeros(4),
        "truths": [True, True, False, False],
        "a tensor of truths": torch.ones(4, dtype=torch.bool),
        "complex": [0j, 0j, 1j, 1j],
        "one missing": ["a", "a", None, "b"],
        "one NaN": ["a", "a", float("nan"), "b"],
        "lists": [[0], [0], [1], [1]],
        "dictionaries": [{}, {}, {}, {}],
        "unhashable pairs": [(0, []), (0, []), 1, 1],
        "none": [],
        "too few": [0, 1],
        "too many": range(5),
        "a column": torch.zeros(4, 1, dtype=torch.int64),
        "a scalar": torch.tensor(0),
        "an array of pairs": np.array([["a", "b"]] * 4),
        "sparse": torch.ones(4, dtype=torch.int64).to_sparse(),
        "without data": torch.zeros(4, dtype=torch.int64, device="meta"),
    }
    for name, ids in wrong.items():
        yield name, lambda ids=ids: t.backward(ids=ids)


def of_agreements(t):
    agreement = Agreement(t.model, AndMask())

    def changed(rule):
        agreement.discard()
        agreement.accumulate(t.losses, IDS)
        agreement.rule = rule
        agreement.backward(t.losses, [2, 2, 3, 3])

    def again(*calls):
        agreement = Agreement(t.model, AndMask())
        for rows, ids in calls:
            agreement.accumulate(t.losses[rows], ids)

    for name, model in {**NONSENSE, "a module's class": nn.Linear, "a tensor": torch.ones(2), "a state": {}}.items():
        yield f"model: {name}", lambda model=model: Agreement(model, AndMask())
    yield "model: nothing to train", lambda: Agreement(nn.ReLU(), AndMask())
    yield "model: frozen", lambda: Agreement(nn.Linear(2, 2).requires_grad_(False), AndMask())
    yield "model: complex", lambda: Agreement(nn.Linear(2, 2, dtype=torch.complex64), AndMask())
    yield "model: lazy", lambda: Agreement(nn.LazyLinear(2), AndMask())
    for name, rule in NONSENSE.items():
        yield f"rule: {name}", lambda rule=rule: Agreement(t.model, rule)
        yield f"rule set later: {name}", lambda rule=rule: changed(rule)
    yield "rule: a function", lambda: Agreement(t.model, lambda statistics: statistics)
    yield "rule: reads more than was accumulated", lambda: changed(SandMask())
    for name in ("statistics", "kernel", "rows"):
        yield f"{name}: another word", lambda name=name: Agreement(t.model, AndMask(), **{name: "frozen"})
        yield f"{name}: a number", lambda name=name: Agreement(t.model, AndMask(), **{name: 3})
    yield "refuse_nonfinite: a word", lambda: Agreement(t.model, AndMask(), refuse_nonfinite="no")
    yield "normalise: another word", lambda: Agreement(t.model, AndMask(), normalise="layer")
    yield "normalise: a number", lambda: Agreement(t.model, AndMask(), normalise=2)
    yield "normalise: unknown names", lambda: Agreement(t.model, AndMask(), normalise=["wieght"])
    yield "normalise: lists", lambda: Agreement(t.model, AndMask(), normalise=[["weight"]])
    yield "keep: a number", lambda: Agreement(t.model, AndMask(), keep=3)
    yield "keep: a word", lambda: Agreement(t.model, AndMask(), keep="weight")
    yield "keep: an array", lambda: Agreement(t.model, AndMask(), keep=np.ones(3))
    yield "keep: unknown", lambda: Agreement(t.model, AndMask(), keep=["wieght"])
    yield "ids: again in another call", lambda: again((slice(0, 4), IDS), (slice(0, 2), [1, 1]))
    yield "ids: again after another", lambda: again((slice(0, 1), [0]), (slice(1, 2), [1]), (slice(2, 3), [0]))


def of_rules(t):
    g = torch.randn(3, 2)
    for kind in (AndMask, GeometricMean, XorMask, MedianSign, SandMask):
        yield f"{kind.__name__}: threshold above 1", lambda kind=kind: kind(1.5)
        yield f"{kind.__name__}: threshold a word", lambda kind=kind: kind("a")
        yield f"{kind.__name__}: threshold None", lambda kind=kind: kind(None)
    yield "AndMask: threshold True", lambda: AndMask(True)
    yield "AndMask: threshold an array", lambda: AndMask(np.ones(2))
    yield "AndMask: rescale a word", lambda: AndMask(rescale="yes")
    yield "SandMask: k 0", lambda: SandMask(k=0)
    yield "SandMask: unbiased 1", lambda: SandMask(unbiased=1)
    yield "SignalToNoiseMask: ratio below 0", lambda: SignalToNoiseMask(-1)
    yield "SignalToNoiseMask: ratio NaN", lambda: SignalToNoiseMask(float("nan"))
    yield "SignalToNoiseMask: ratio a list", lambda: SignalToNoiseMask([1])
    for name, statistics in {**NONSENSE, "a tensor": g}.items():
        yield f"statistics: {name}", lambda statistics=statistics: AndMask()(statistics)
    yield "statistics: without signs", lambda: AndMask()(Statistics(3, g[0]))
    yield "required_count: no environments", lambda: required_count(0.5, 0)
    yield "required_count: half an environment", lambda: required_count(0.5, 1.5)
    yield "required_count: a word", lambda: required_count("half", 3)
    for kind in (Qualitative, Homogeneous, Heterogeneous):
        yield f"{kind.__name__}: errors a word", lambda kind=kind: kind(errors="halves")
        yield f"combine: {kind.__name__}", lambda kind=kind: combine(kind(), g)
    for name, rows in {"a number": 5, "words": {0: "a", 1: "b"}, "none of one": {0: 0}}.items():
        yield f"StandardErrors: rows {name}", lambda rows=rows: StandardErrors(memory=0.5, rows=rows)
    yield "agreement_mask: threshold above 1", lambda: agreement_mask(Statistics(3, g[0], g[0].sign()), 2.0)
    for name, gradients in {**NONSENSE, "a list of tensors": list(g)}.items():
        yield f"combine: {name}", lambda gradients=gradients: combine(AndMask(), gradients)
    yield "combine: integers", lambda: combine(AndMask(), torch.ones(3, 2, dtype=torch.int64))
    yield "combine: complex", lambda: combine(AndMask(), torch.ones(3, 2, dtype=torch.complex64))
    yield "combine: none", lambda: combine(AndMask(), torch.ones(0, 2))
    yield "combine: a scalar", lambda: combine(AndMask(), torch.ones(()))
    yield "combine: a rule's class", lambda: combine(AndMask, g)
    yield "combine: no rule", lambda: combine(None, g)
    yield "normalised: another word", lambda: normalised({"a": g}, "layer")
    yield "normalised: unknown names", lambda: normalised({"a": g}, "tensor", only=["b"])
    yield "normalised: other numbers of rows", lambda: normalised({"a": g, "b": g[:2]}, "tensor")
    record = Record(torch.arange(2), torch.zeros(2), 1.0, {}, {})
    for name, nothing in {**NONSENSE, "a dictionary": {}, "a model": t.model}.items():
        yield f"decay_masked: record {name}", lambda nothing=nothing: decay_masked(t.model, nothing, lr=0.1)
    yield "decay_masked: no model", lambda: decay_masked(None, record, lr=0.1)
    yield "by_input: None", lambda: by_input(None)
    yield "by_input: a tuple", lambda: by_input(tuple(record))
    yield "by_input: nothing kept", lambda: by_input(record)
    yield "by_input: an unknown name", lambda: by_input(record._replace(statistics={"a": Statistics(2, g)}), "b")
    yield "by_input: no signs", lambda: by_input(record._replace(statistics={"a": Statistics(2, g)}))


def of_aggregators(t):
    for name, rule in NONSENSE.items():
        yield f"as_aggregator: {name}", lambda rule=rule: as_aggregator(rule)

    def mean(rows):
        return rows.mean(0)

    yield "aggregate: no model", lambda: aggregate(None, t.losses, IDS, mean)
    yield "aggregate: no losses", lambda: aggregate(t.model, None, IDS, mean)
    yield "aggregate: no ids", lambda: aggregate(t.model, t.losses, None, mean)
    yield "aggregate: no aggregator", lambda: aggregate(t.model, t.losses, IDS, None)
    yield "aggregate: another shape", lambda: aggregate(t.model, t.losses, IDS, lambda rows: rows)
    yield "aggregate: no tensor", lambda: aggregate(t.model, t.losses, IDS, lambda rows: None)
    yield "aggregate: a limit of 0", lambda: aggregate(t.model, t.losses, IDS, mean, limit=0)
    yield "aggregate: above the limit", lambda: aggregate(t.model, t.losses, IDS, mean, limit=3)


def of_optimisers(t):
    for name, params in {**NONSENSE, "none": [], "a tensor": torch.ones(2), "a model": t.model, "numbers": [1, 2]}.items():
        yield f"TemporalAndMaskAdam: params {name}", lambda params=params: TemporalAndMaskAdam(params)
        yield f"TemporalMask: params {name}", lambda params=params: TemporalMask(params)
    settings = {
        "lr": [-1.0, "a", None],
        "betas": [0.9, (0.9, 0.999), "abc", None, (0.9, 0.9, 1.0), (0.9, "a", 0.9)],
        "threshold": ["a", None, 1.5, 1, 1.0],
        "weight_decay": [-1.0, None],
        "form": [None, "printed", AdamForm],
        "refuse_nonfinite": ["yes", 1],
        "implementation": ["fast", None],
    }
    for name, values in settings.items():
        for value in values:
            yield f"TemporalAndMaskAdam: {name} {value!r}", lambda name=name, value=value: t.adam(**{name: value})
    for name, values in {
        "eps": [-1.0, "a"],
        "bias_correction": ["some", None],
        "maximize": ["yes"],
        "eps_inside_root": [None],
    }.items():
        for value in values:
            yield f"AdamForm: {name} {value!r}", lambda name=name, value=value: AdamForm(**{name: value})
    for name, values in {"beta": [1.0, "a", None], "threshold": ["a", 2.0, 1.0], "bias_correction": ["yes"]}.items():
        for value in values:
            yield f"TemporalMask: {name} {value!r}", lambda name=name, value=value: TemporalMask([t.parameter], **{name: value})
    other = nn.Parameter(torch.ones(3, 3))
    adam, descent = torch.optim.Adam([other]), torch.optim.SGD([t.parameter], lr=0.1, momentum=0.9)
    other.grad, t.parameter.grad = torch.ones(3, 3), torch.ones(2)
    adam.step()
    descent.step()
    mask, of_another = TemporalMask([t.parameter]), TemporalMask([other])
    of_another.mask_()
    for name, state in {**NONSENSE, "empty": {}}.items():
        yield f"TemporalAndMaskAdam: state {name}", lambda state=state: t.adam().load_state_dict(state)
        yield f"TemporalMask: state {name}", lambda state=state: mask.load_state_dict(state)
    yield "TemporalAndMaskAdam: state of descent", lambda: t.adam().load_state_dict(descent.state_dict())
    yield "TemporalAndMaskAdam: state of other shapes", lambda: t.adam().load_state_dict(adam.state_dict())
    yield "TemporalAndMaskAdam: no group", lambda: t.adam().add_param_group([t.parameter])
    yield "TemporalMask: state of other shapes", lambda: mask.load_state_dict(of_another.state_dict())


def of_ranks(t):
    for name, model in NONSENSE.items():
        yield f"combine_across_ranks: parameters {name}", lambda model=model: combine_across_ranks(model, AndMask())
        yield f"combine_across_ranks: rule {name}", lambda rule=model: combine_across_ranks(t.model, rule)
        yield f"combine_shards: {name}", lambda model=model: combine_shards(model, AndMask())
        yield f"agreement_hook: {name}", lambda state=model: agreement_hook(state, None)
    for name, value in {
        "statistics": [1],
        "environments": 0.5,
        "summation": "ranks",
        "ids": "mine",
        "refuse_nonfinite": 1,
    }.items():
        yield (
            f"combine_across_ranks: {name} {value!r}",
            lambda name=name, value=value: combine_across_ranks(t.model, AndMask(), **{name: value}),
        )
    yield (
        "combine_across_ranks: statistics of tensors",
        lambda: combine_across_ranks(t.model, AndMask(), statistics=dict(t.model.named_parameters())),
    )
    yield "combine_across_ranks: parameters of numbers", lambda: combine_across_ranks({"a": 1}, AndMask())
    filter_ = nn.ParameterList([nn.Parameter(torch.ones(2, dtype=torch.complex64))])
    yield "combine_across_ranks: complex parameters", lambda: combine_across_ranks(filter_, AndMask())
    yield "combine_across_ranks: no group", lambda: combine_across_ranks(t.model, AndMask())
    yield "combine_shards: not sharded", lambda: combine_shards(t.model, AndMask())
    yield "combine_shards: a rule's class", lambda: combine_shards(t.model, AndMask)
    yield "agreement_hook: a rule's class", lambda: agreement_hook(HookState(AndMask), None)


DOORS = (of_losses, of_ids, of_agreements, of_rules, of_aggregators, of_optimisers, of_ranks)


def tried(name, call, model):
    """What a call ends in."""
    before = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    try:
        call()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        inside = frames[-1].filename.startswith(mechlearn.__path__[0])
        found = {"name": name, "error": type(error).__name__, "message": str(error), "ours": inside}
    else:
        found = {"name": name, "error": None, "message": "", "ours": False}
    after = [p.grad for p in model.parameters()]
    same = all((a is None) == (b is None) and (a is None or torch.equal(a, b)) for a, b in zip(before, after, strict=True))
    return found | {"touched": not same}


def main():
    warnings.simplefilter("ignore")
    found = []
    for door in DOORS:
        t = Tried()
        found += [tried(f"{door.__name__}: {name}", call, t.model) for name, call in door(t)]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
