"""Ranks that train with `Anchored`; run by `workers.run`."""

import torch
from torch.nn.parallel import DistributedDataParallel

import distributed_doors as doors
import distributed_workers as workers
from mechlearn.agreement import Agreement, Anchored
from mechlearn.agreement.distributed.ddp import combine_across_ranks


def mine(rank, world, alone):
    """Return a rank's rows of three losses: every so-manieth; alone, the second rank has none but the anchor's."""
    x, y, site = doors.batch([0, 1, 2])
    keep = torch.arange(len(x)) % world == rank
    if alone:
        keep = (keep & (site == 0)) | ((site != 0) & (rank == 0))
    return x[keep], y[keep], site[keep]


def train(rank, world):
    """Return gradients and shares by `backward` and by `combine_across_ranks`, both ways to deal, and two errors."""
    found = []
    for alone in (False, True):
        wrapped = DistributedDataParallel(workers.make())
        agreement = Agreement(wrapped.module, Anchored(0, 0.5))
        x, y, site = mine(rank, world, alone)
        record = agreement.backward(workers.losses(wrapped, x, y), site)
        found.append(([p.grad.clone() for p in wrapped.parameters()], record.share_by_parameter))
    agreement = Agreement(wrapped.module, Anchored(7))
    said = doors.said(lambda: agreement.backward(workers.losses(wrapped, x, y), site))
    model = workers.make()
    agreement = Agreement(model, Anchored(0, 0.5))
    x, y, site = doors.batch([0] if rank else [1, 2])
    agreement.accumulate(workers.losses(model, x, y), site)
    shares = combine_across_ranks(model, Anchored(0, 0.5), statistics=agreement.collect())
    found.append(([p.grad for p in model.parameters()], dict(shares)))
    return found, [said, doors.said(lambda: combine_across_ranks(model, Anchored(0)))]
