"""What runs in the processes of the distributed tests; started with a fork server, which has imported torch once."""

import contextlib
import multiprocessing
import os
import signal
import time
from datetime import timedelta

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from mechlearn.agreement import (
    Agreement,
    AndMask,
    GeometricMean,
    Homogeneous,
    Mean,
    MedianSign,
    Qualitative,
    SandMask,
    decay_masked,
)
from mechlearn.agreement.distributed.ddp import HookState, agreement_hook, combine_across_ranks
from mechlearn.agreement.distributed.summing import all_reduce_statistics, of_one
from mechlearn.agreement.engine.collected import OfEnvironments
from mechlearn.agreement.rules import SignalToNoiseMask

TIMEOUT = 60

RULES = {
    "mean": Mean(), "and": AndMask(0.6), "rescaled": AndMask(1.0, rescale=True), "geometric": GeometricMean(0.5),
    "median": MedianSign(0.3), "sand": SandMask(0.3, k=0.1), "noise": SignalToNoiseMask(0.7),
}  # fmt: skip

SEVERAL = ("and", "sand", "noise")
"""Rules to try with several environments a rank: between them they need every statistic that such a rank sums."""


CONFLICT = {"qualitative": Qualitative(0.9), "homogeneous": Homogeneous(0.3)}


def make(seed=0):
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.Linear(7, 3)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.5)
    return model


def environment(e):
    """Examples of one environment."""
    generator = torch.Generator().manual_seed(100 + e)
    x = torch.randn(5, 6, dtype=torch.float64, generator=generator)
    return x, x[:, :3] + torch.randn(5, 3, dtype=torch.float64, generator=generator)


def losses(model, x, y):
    return (model(x) - y).square().mean(1)


def several(world, rank):
    """Ids of the environments of a rank: unequally many."""
    return [rank] if rank % 2 else [rank, world + rank, 2 * world + rank]


def grads(model):
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def plain_function(rank, world):
    """One environment a rank, for each rule and each order of summation."""
    found = {}
    for key, rule in RULES.items():
        for summation in ("backend", "rank"):
            model = make()
            losses(model, *environment(rank)).mean().backward()
            shares = combine_across_ranks(model, rule, environments=world, summation=summation)
            found[key, summation] = grads(model), shares
    return found


def collected(rank, world):
    """Several environments a rank."""
    found = {}
    for key in SEVERAL:
        model = make()
        with Agreement(model, RULES[key]) as agreement:
            ids = several(world, rank)
            parts = [environment(e) for e in ids]
            x, y = (torch.cat(part) for part in zip(*parts, strict=True))
            agreement.accumulate(losses(model, x, y), torch.tensor(ids).repeat_interleave(5))
            combine_across_ranks(model, RULES[key], statistics=agreement.collect(), summation="rank")
        found[key] = grads(model)
    return found


def decayed(rank, world):
    """Steps with decay of what a test for conflict masks, several environments a rank; the last rank is without data once."""
    found = {}
    for key, rule in CONFLICT.items():
        model = make()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        agreement, masks = Agreement(model, rule, keep="masks"), []
        for step in range(3):
            model.zero_grad()
            ids = [] if step == 1 and rank == world - 1 else several(world, rank)
            if ids:
                x, y = (torch.cat(part) for part in zip(*map(environment, ids), strict=True))
                agreement.accumulate(losses(model, x, y), torch.tensor(ids).repeat_interleave(5))
            survivors = combine_across_ranks(model, rule, statistics=agreement.collect(), summation="rank")
            optimizer.step()
            decay_masked(model, survivors, lr=0.05, factor=5.0)
            masks.append(survivors.masks)
        found[key] = masks, {name: p.detach().clone() for name, p in model.named_parameters()}
    return found


def hooked(rank, world):
    found = {}
    for key, rule in RULES.items():
        model = DistributedDataParallel(make(), bucket_cap_mb=1e-4)
        model.register_comm_hook(HookState(rule), agreement_hook)
        for _ in range(2):  # the second pass has other buckets than the first
            model.zero_grad()
            losses(model, *environment(rank)).mean().backward()
        found[key] = grads(model.module)
    return found


def overflown(rank, world):
    """Gradients in which the last rank has a NaN, by the hook and by shards, of a rule that reads signs alone."""
    from torch.distributed.fsdp import fully_shard

    from mechlearn.agreement.distributed.sharded import combine_shards

    def backward(model):
        factor = float("nan") if rank == world - 1 else 1.0
        (losses(model, *environment(rank)).mean() * factor).backward()

    hooked = DistributedDataParallel(make())
    hooked.register_comm_hook(HookState(MedianSign(0.0)), agreement_hook)
    backward(hooked)
    shards = make()
    fully_shard(shards)
    combine_shards(shards, MedianSign(0.0))
    backward(shards)
    return grads(hooked.module), {name: p.grad.full_tensor().clone() for name, p in shards.named_parameters()}


def sharded(rank, world):
    from torch.distributed.fsdp import fully_shard

    from mechlearn.agreement.distributed.sharded import combine_shards

    found = {}
    for key in (key for key in RULES if key != "rescaled"):
        model = make()
        fully_shard(model[0])
        fully_shard(model)
        combine_shards(model, RULES[key])
        losses(model, *environment(rank)).mean().backward()
        found[key] = {name: p.grad.full_tensor().clone() for name, p in model.named_parameters()}
    return found


def many_environments(rank, world):
    """More environments than a byte can count, as gradients that are given outright."""
    parameter = nn.Parameter(torch.zeros(5))
    count = 200
    sign = torch.tensor([count, -count, count // 2, 0, 7 * (rank + 1)], dtype=torch.float32)
    from mechlearn.agreement import Statistics

    total = all_reduce_statistics(Statistics(count, parameter.detach() + rank, sign), count * world)
    return total.environments, total.sign, total.gradient


def silent(rank, world):
    """The last layer's bias is reached on rank 0 alone, the first layer nowhere; the last rank has no data."""
    model = make()
    if rank == world - 1:
        return combine_across_ranks(model, AndMask(1.0), statistics={}), grads(model)
    model[0].requires_grad_(True)
    hidden = torch.ones(2, 7, dtype=torch.float64) * (rank + 1)
    head = model[2]
    out = hidden @ head.weight.T + (head.bias if rank == 0 else 0)
    with Agreement(model, AndMask(1.0)) as agreement:
        agreement.accumulate(out.square().mean(1), [2 * rank, 2 * rank + 1])
        shares = combine_across_ranks(model, AndMask(1.0), statistics=agreement.collect())
    return shares, grads(model)


def sentence(call):
    try:
        call()
    except (ValueError, RuntimeError, FloatingPointError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def disagreements(rank, world):
    """Every rank is wrong in another way than the others; what each of them says, and whether gradients were left alone."""
    said = {}

    def attempt(name, model=None, rule=None, **arguments):
        model = make() if model is None else model
        losses(model, *environment(rank)).mean().backward()
        before = grads(model)
        said[name] = sentence(lambda: combine_across_ranks(model, rule or AndMask(), **arguments))
        assert all(torch.allclose(before[key], value, rtol=0, atol=0, equal_nan=True) for key, value in grads(model).items())

    attempt("expected", environments=world + rank)
    attempt("total", environments=world + 1)
    attempt("rule", rule=AndMask(0.5 + 0.1 * rank))
    smaller = make()
    smaller[2].bias.requires_grad_(rank == 0)
    attempt("parameters", model=smaller)
    renamed = nn.Sequential(*make(), nn.Identity()) if rank else nn.Sequential(nn.Identity(), *make())
    attempt("names", model=renamed)
    infinite = make()
    if rank == 1:
        infinite[2].bias.data.fill_(torch.inf)
    attempt("nonfinite", model=infinite)
    attempt("nothing", statistics={})
    mixed = {name: of_one(p, AndMask()) for name, p in make().named_parameters()}
    if rank == 1:
        mixed["2.bias"] = mixed["2.bias"]._replace(environments=2)
    attempt("mixed", statistics=mixed)
    attempt("unknown", statistics={"other": mixed["2.bias"]})
    attempt("another rule", rule=SandMask(), statistics={name: of_one(p, AndMask()) for name, p in make().named_parameters()})
    attempt("double", statistics=of_environments([f"Ulm {rank}", "Bonn"]))
    return said


def of_environments(ids):
    """Two environments' statistics, with their ids."""
    two = {name: of_one(p.detach(), AndMask())._replace(environments=2) for name, p in make().named_parameters()}
    found = OfEnvironments(two)
    found.ids = tuple(ids)
    return found


def numbered_alike(rank, world):
    """Ids that two ranks have both, which are none of the other's where each numbers its own."""
    found = {}
    for ids, statistics in (("local", of_environments([0, 1])), ("global", of_environments([rank, world + rank]))):
        found[ids] = combine_across_ranks(make(), AndMask(), statistics=statistics, environments=2 * world, ids=ids)
    return found


def two_bytes(rank, world):
    """Gradients of bfloat16 whose sum it cannot hold: 256 + 1 = 256."""
    model = nn.Linear(2, 1, dtype=torch.bfloat16)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 256.0 if rank == 0 else 1.0)
    combine_across_ranks(model, MedianSign(1.0))
    summed = all_reduce_statistics(of_one(torch.full((2,), 256.0 if rank == 0 else 1.0).bfloat16(), Mean()), world)
    return grads(model), summed.gradient


def together(rank, world):
    return {
        f.__name__: f(rank, world)
        for f in (
            plain_function,
            collected,
            decayed,
            hooked,
            overflown,
            sharded,
            many_environments,
            silent,
            disagreements,
            numbered_alike,
            two_bytes,
        )
    }


def dies(rank, world):
    """The last rank is killed in the middle of a step; the others say so."""
    model = make()
    combine(model, rank)
    if rank == world - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    started = time.monotonic()
    said = sentence(lambda: combine(model, rank))
    return said, time.monotonic() - started


def hook_dies(rank, world):
    model = DistributedDataParallel(make())
    model.register_comm_hook(HookState(AndMask()), agreement_hook)
    for _ in range(2):  # DistributedDataParallel talks to the others itself after the first pass
        losses(model, *environment(rank)).mean().backward()
        model.zero_grad()
    if rank == world - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return sentence(lambda: losses(model, *environment(rank)).mean().backward())


def sharded_dies(rank, world):
    """The last rank is killed between the forward and the backward pass, so that it is missed where gradients are reduced."""
    from torch.distributed.fsdp import fully_shard

    from mechlearn.agreement.distributed.sharded import combine_shards

    model = make()
    fully_shard(model)
    combine_shards(model, AndMask())
    loss = losses(model, *environment(rank)).mean()
    distributed.barrier()
    if rank == world - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return sentence(loss.backward)


def combine(model, rank):
    model.zero_grad()
    losses(model, *environment(rank)).mean().backward()
    combine_across_ranks(model, AndMask())


def _enter(work, rank, world, folder):
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world, timeout=timedelta(seconds=TIMEOUT)
    )
    torch.save(work(rank, world), f"{folder}/{rank}.pt")
    # A group that has lost a rank cannot be taken down in an orderly way.
    with contextlib.suppress(RuntimeError):
        distributed.destroy_process_group()
    os._exit(0)


def run(work, world, folder, timeout=120):
    """Run work(rank, world) in as many processes; what each returned, None for one that died."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["torch", "torch.distributed", "torch.distributed.fsdp", "mechlearn.agreement.distributed.ddp"]
    )
    processes = [context.Process(target=_enter, args=(work, rank, world, str(folder)), daemon=True) for rank in range(world)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout)
        if process.is_alive():
            process.kill()
    files = [folder / f"{rank}.pt" for rank in range(world)]
    return [torch.load(file, weights_only=False) if file.exists() else None for file in files]
