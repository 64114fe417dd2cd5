"""Ranks whose `Agreement` is over a model that is wrapped or sharded, as a launcher's script has it; run by `workers.run`."""

import contextlib
import warnings

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import distributed_workers as workers
from mechlearn.agreement import Agreement, AndMask, Homogeneous, decay_masked
from mechlearn.agreement.distributed.ddp import HookState, agreement_hook
from mechlearn.agreement.statistics import watch

STEPS = 6
RULES = {"and": AndMask(0.6), "rescaled": AndMask(1.0, rescale=True), "homogeneous": Homogeneous(0.3)}


class Lit(nn.Module):
    """A model inside of what is wrapped, as Lightning has it."""

    def __init__(self):
        super().__init__()
        self.model = workers.make()

    def forward(self, x):
        return self.model(x)


def batch(ids):
    x, y = (torch.cat(part) for part in zip(*map(workers.environment, ids), strict=True))
    return x, y, torch.tensor(ids).repeat_interleave(5)


def wrapper():
    wrapped = DistributedDataParallel(workers.make())
    return wrapped, wrapped


def module():
    wrapped = DistributedDataParallel(workers.make(), gradient_as_bucket_view=True)
    return wrapped, wrapped.module


def inside():
    wrapped = DistributedDataParallel(Lit(), find_unused_parameters=True)
    return wrapped, wrapped.module.model


def halve(leaf):
    leaf.grad.mul_(0.5)


def hooks():
    wrapped = DistributedDataParallel(workers.make())
    for parameter in wrapped.parameters():
        parameter.register_hook(lambda gradient: gradient * 2.0)
        parameter.register_post_accumulate_grad_hook(halve)
    return wrapped, wrapped


def shards():
    from torch.distributed.fsdp import fully_shard

    model = workers.make()
    fully_shard(model)
    return model, model


def layers():
    from torch.distributed.fsdp import fully_shard

    model = workers.make()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    return model, model


WRAPPINGS = (wrapper, module, inside, hooks, shards, layers)


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def trained(rank, world, wrap, rule):
    """Steps of SGD with momentum, one of them of two micro-batches; what is left of the model, and each step's survivors."""
    forward, model = wrap()
    optimizer = torch.optim.SGD(forward.parameters(), lr=0.1, momentum=0.9)
    agreement, survivors, gradients = Agreement(model, rule), [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        x, y, site = batch(workers.several(world, rank))
        if step == 2 and not isinstance(rule, Homogeneous):  # the last environment, or part of it, comes in a call of its own
            first = 10 if len(x) == 15 else 2
            agreement.accumulate(workers.losses(forward, x[:first], y[:first]), site[:first])
            x, y, site = x[first:], y[first:], site[first:]
        record = agreement.backward(workers.losses(forward, x, y), site)
        survivors.append(list(record.share_by_parameter.values()))
        gradients.append([whole(p.grad).clone() for p in model.parameters()])
        optimizer.step()
    return survivors, gradients, [whole(p.detach()).clone() for p in model.parameters()]


def automatic(rank, world):
    found = {(wrap.__name__, key): trained(rank, world, wrap, rule) for wrap in WRAPPINGS for key, rule in RULES.items()}
    held = {wrap.__name__: held_alike(rank, world, wrap) for wrap in WRAPPINGS}
    seen = {wrap.__name__: watched(rank, world, wrap) for wrap in (wrapper, shards, layers)}
    masked = [decayed(rank, world, wrap) for wrap in (wrapper, layers)]
    others = {"refused": refused(rank, world), "accumulated": accumulated(rank, world)} if world == 2 else {}
    return {"trained": found, "held": held, "watched": seen, "decayed": masked, **others}


def watched(rank, world, wrap):
    """Norms that `watch` finds on a rank, and two steps of a training with it and without."""
    found = []
    for watching in (True, False):
        forward, model = wrap()
        optimizer = torch.optim.SGD(forward.parameters(), lr=0.1, momentum=0.9)
        x, y, site = batch(workers.several(world, rank))
        for _ in range(2):
            if watching:
                statistics = watch(forward, lambda x, y, m=forward: workers.losses(m, x, y), x, y, environments=site)
                found.append(statistics.norms.clone())
            optimizer.zero_grad()
            workers.losses(forward, x, y).mean().backward()
            optimizer.step()
        found.append([whole(p.detach()).clone() for p in model.parameters()])
    return found


def dealt(rank, world, call):
    """A shuffled loader's micro-batch on a rank: sites anywhere, one of them on the last rank alone."""
    generator = torch.Generator().manual_seed(7 + call)
    x, y, site = batch([0, 1, 2, 3])
    order = torch.randperm(len(x), generator=generator)
    mine = order[rank::world]
    mine = mine[(site[mine] != 3) | (rank == world - 1)]
    return x[mine], y[mine], site[mine]


def held_alike(rank, world, wrap):
    """Two micro-batches a rank of a step whose environments are on all ranks: gradients, shares, and what each rank records."""
    forward, model = wrap()
    agreement = Agreement(model, AndMask(0.6))
    x, y, site = dealt(rank, world, 0)
    around = forward.no_sync if hasattr(forward, "no_sync") else contextlib.nullcontext
    with around():
        agreement.accumulate(workers.losses(forward, x, y), site, hold=True)
    x, y, site = dealt(rank, world, 1)
    record = agreement.backward(workers.losses(forward, x, y), site)
    gradients = [whole(p.grad).clone() for p in model.parameters()]
    record_of_one = said(lambda: agreement.backward(workers.losses(forward, x, y), site, hold=rank == 0))
    return gradients, list(record.share_by_parameter.values()), record.environments.tolist(), record.losses, record_of_one


def said(call):
    try:
        call()
    except (ValueError, RuntimeError, FloatingPointError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def part(wrap, rank, world):
    """An agreement of the last layer, while the layers below it train, too."""
    forward, model = wrap()
    x, y, site = batch(workers.several(world, rank))
    Agreement(model[-1] if wrap is layers else model.module[-1], AndMask(0.6)).backward(workers.losses(forward, x, y), site)


def decayed(rank, world, wrap):
    """Parameters after two steps whose masked components decay."""
    forward, model = wrap()
    agreement = Agreement(model, AndMask(1.0), keep="masks")
    optimizer = torch.optim.SGD(forward.parameters(), lr=0.1)
    x, y, site = batch(workers.several(world, rank))
    for _ in range(2):
        optimizer.zero_grad()
        record = agreement.backward(workers.losses(forward, x, y), site)
        optimizer.step()
        decay_masked(model, record, lr=0.1)
    return [whole(p.detach()).clone() for p in model.parameters()]


def refused(rank, world):
    """What each rank says where gradients cannot be combined, and whether ``.grad`` was left alone."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    found = {}

    def attempt(name, wrapped, around=contextlib.nullcontext, factor=1.0, model=None, ids=None):
        x, y, site = batch(workers.several(world, rank) if ids is None else ids)
        agreement = Agreement(wrapped if model is None else model, AndMask(0.6))
        with around():
            found[name] = said(lambda: agreement.backward(workers.losses(wrapped, x, y) * factor, site))
        assert all(p.grad is None for p in wrapped.parameters())
        x, y, site = batch([rank, world + rank])  # the next step is another chance
        assert agreement.backward(workers.losses(wrapped, x, y), site).share_by_parameter

    ddp = DistributedDataParallel(workers.make())
    attempt("no_sync", ddp, ddp.no_sync)
    attempt("one rank fails", DistributedDataParallel(workers.make()), factor=float("nan") if rank == 1 else 1.0)
    attempt("one environment on two ranks", DistributedDataParallel(workers.make()), ids=[7, rank])
    found["a part"] = [said(lambda w=wrap: part(w, rank, world)) for wrap in (wrapper, layers)]
    missed = Agreement(ddp, AndMask(0.6))
    x, y, site = batch(workers.several(world, rank))
    factor = float("nan") if rank == 1 else 1.0
    failed = said(lambda: missed.accumulate(workers.losses(ddp, x, y) * factor, site, hold=True))
    found["out of step"] = failed, said(lambda: missed.backward(workers.losses(ddp, x, y), site, hold=True))
    found["static"] = said(lambda: Agreement(DistributedDataParallel(workers.make(), static_graph=True), AndMask()))
    batch_norm = DistributedDataParallel(nn.Sequential(nn.Linear(6, 7), nn.BatchNorm1d(7)))
    batch_norm.module[1].__class__ = nn.SyncBatchNorm  # which is wrapped on a GPU alone
    found["batch norm"] = said(lambda: Agreement(batch_norm, AndMask(), statistics="pooled"))
    both = nn.ModuleList([DistributedDataParallel(workers.make()), workers.make()])
    found["half"] = said(lambda: Agreement(both, AndMask()).backward(both[1](batch([0])[0]).square().mean(1), [rank] * 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its age
        flat = FullyShardedDataParallel(workers.make(), device_id=torch.device("cpu"))
    found["fsdp1"] = said(lambda: Agreement(flat, AndMask()))
    found["fsdp1 watched"] = said(lambda: watch(flat, flat, torch.zeros(2, 4), environments=[0, 1]))
    mesh = init_device_mesh("cpu", (world,))
    parallel = parallelize_module(workers.make(), mesh, {"0": ColwiseParallel()})
    found["tensor parallel"] = said(lambda: Agreement(parallel, AndMask()))
    return found


def accumulated(rank, world):
    """Two passes of the hook without and with ``no_sync()``, and with gradients that were cleared in place."""
    gradients = torch.tensor([[4.0, 2.0], [0.5, -1.0]])

    def hooked():
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        model.register_comm_hook(HookState(AndMask(1.0)), agreement_hook)
        return model

    def backward(model, pass_):
        (model(torch.ones(1, 1)) * gradients[rank, pass_]).sum().backward()

    plain = hooked()
    backward(plain, 0)
    before = plain.module.weight.grad.clone()
    without = said(lambda: backward(plain, 1))
    kept = bool((plain.module.weight.grad == before).all())
    plain.zero_grad()
    backward(plain, 0)
    once = plain.module.weight.grad.item()
    plain.zero_grad(set_to_none=False)
    backward(plain, 0)
    again = plain.module.weight.grad.item()
    inside = hooked()
    with inside.no_sync():
        backward(inside, 0)
    backward(inside, 1)
    return without, kept, once, again, inside.module.weight.grad.item()
