"""Environments spread over processes: rank = environment, or several a rank.

Every rank forms what its own environments' gradients add up to; sums of gradients and integer sums of signs are added up over
the ranks, and the rule is applied once to the totals. Sign sums travel in one byte a component for up to 127 environments and
in two beyond. Masks are bitwise those of one process, since integers have one sum; gradients are so with
``summation="rank"``, which adds them in the order of the ranks.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, no_type_check
from weakref import ref

import torch
from jaxtyping import Shaped
from torch import Tensor, distributed, nn
from torch.distributed import ProcessGroup

from mechlearn.agreement.distributed import collectives
from mechlearn.agreement.distributed.summing import (
    BYTE,
    Summation,
    all_reduce_statistics,
    of_one,
    pack_pairs,
    silent,
    unpack_pairs,
)
from mechlearn.agreement.engine.collected import OfEnvironments, Survivors, names_of
from mechlearn.agreement.engine.delivery import cast_all, deliver
from mechlearn.agreement.engine.streaming import dense
from mechlearn.agreement.rules import Anchored, Rule, Statistics, check_rule, survival
from mechlearn.arguments import check_flag, check_one_of, check_whole
from mechlearn.environments import Ids, check_finite_sums


def combine_across_ranks(
    parameters: Mapping[str, Tensor] | nn.Module,
    rule: Rule,
    *,
    statistics: Mapping[str, Statistics] | None = None,
    environments: int | None = None,
    group: ProcessGroup | None = None,
    summation: Summation = "backend",
    refuse_nonfinite: bool = True,
    ids: Literal["global", "local"] = "global",
) -> Survivors:
    """Replace ``.grad`` by what a rule makes of all ranks' environments; every rank gets the same.

    Without ``statistics`` each rank's ``.grad`` is the gradient of its one environment, as ``loss.backward()`` on a mean loss
    leaves it (under DistributedDataParallel inside ``no_sync()``). With several environments a rank, accumulate them with
    `mechlearn.agreement.Agreement.accumulate` and pass what `collect` returns; ``.grad`` is then added to, as by
    `Agreement.backward`. A parameter that no rank's losses reach is left alone; one that some ranks' do not reach has gradient
    0, and so a disagreement, there.

    Args:
        parameters: a model, or parameters by name; the same on every rank.
        rule: the same on every rank.
        statistics: for each parameter that this rank's environments reach, what their gradients add up to; {} for a rank
            without data in this step, or what an agreement collects then, nothing: of one that keeps masks the masks of all
            ranks are returned.
        environments: how many environments all ranks together should have, checked; None does not ask, and warns of a single
            one.
        group: the process group; None for all processes.
        summation: "backend" leaves the order in which gradients are added to the backend; "rank" gathers them and adds them in
            the order of the ranks, as one process would that accumulates rank by rank, at the price of memory for every
            rank's gradient of one parameter at a time. With two ranks both are the same.
        refuse_nonfinite: as for `mechlearn.agreement.Agreement`: turn it off with a GradScaler, which looks for NaN itself.
        ids: "global" takes an id that two ranks have collected for one environment, whose sign nobody knows then, and refuses;
            "local" says that every rank numbers environments of its own, which are others than those of any other rank.

    Returns:
        For each parameter that received a gradient, the share of its components that survived; with masks, for
        `mechlearn.agreement.decay_masked`, where the statistics' agreement keeps them.

    Raises:
        TypeError: no model or parameters by name, no rule, no statistics.
        ValueError: a complex parameter; ranks that differ in parameters or rule, or in what they say of the number of
            environments; an environment on two ranks; statistics that lack what the rule reads; the same sentence on every
            rank, and no gradient is touched.
        FloatingPointError: the gradients add up to NaN or infinity, or what is made of them is beyond the parameter's type, on
            every rank alike; no gradient is touched.
        RuntimeError: a rank that is gone, or does not answer within the group's timeout; no gradient is touched.
    """
    check_rule(rule)
    check_one_of("summation", summation, ("backend", "rank"))
    check_one_of("ids", ids, ("global", "local"))
    check_flag("refuse_nonfinite", refuse_nonfinite)
    if environments is not None:
        check_whole("environments", environments, least=1)
    named = _named(parameters)
    _check_statistics(statistics)
    collectives.check_initialised()
    gradients, shares = combined(
        named, rule, statistics, environments, group=group, summation=summation, refuse_nonfinite=refuse_nonfinite, ids=ids
    )
    _leave(named, gradients, adds=statistics is not None)  # only now, when nothing can fail any more
    return shares


def combined(
    named: Mapping[str, Tensor],
    rule: Rule,
    statistics: Mapping[str, Statistics] | None,
    environments: int | None = None,
    *,
    group: ProcessGroup | None = None,
    summation: Summation = "backend",
    refuse_nonfinite: bool = True,
    ids: Literal["global", "local"] = "global",
) -> tuple[dict[str, Tensor], Survivors]:
    """Return what `combine_across_ranks` brings to ``.grad``, by name, and what survived; nothing is changed.

    Arguments are those of that function, checked; ``named`` holds trainable parameters.

    Raises:
        ValueError, FloatingPointError, RuntimeError: as there.
    """
    mine = _single(named, rule) if statistics is None else dict(statistics)
    total = collectives.shake_hands(named, mine, rule, environments, group)
    known = statistics.ids if isinstance(statistics, OfEnvironments) and ids == "global" else ()
    collectives.check_apart(known, named, group)
    reached = collectives.reached_anywhere(named, mine, group)
    places = _places(rule, known, named, group) if isinstance(rule, Anchored) else []
    gradients: dict[str, Tensor] = {}
    shares = Survivors()
    masks = shares.masks = {} if isinstance(statistics, OfEnvironments) and statistics.keep_masks else None
    for name, parameter in [pair for pair in named.items() if pair[0] in reached]:
        own = mine[name] if name in mine else silent(parameter, rule, mine)
        if isinstance(rule, Anchored):
            own = _spread(own, places, total)
        summed = all_reduce_statistics(own, total, group=group, summation=summation)
        if refuse_nonfinite:
            check_finite_sums(name, summed.gradient)
        gradients[name], survives = rule(summed)
        # A mask must not hide an overflow from the GradScaler that is to find it.
        gradients[name] = gradients[name].masked_fill(~torch.isfinite(summed.gradient), torch.nan)
        shares[name] = float(survival(survives))
        if masks is not None:
            masks[name] = survives != 0
    return cast_all(named, gradients, refuse_nonfinite), shares


def _places(rule: Anchored, ids: Ids, named: Mapping[str, Tensor], group: ProcessGroup | None) -> list[int]:
    """Return where this rank's environments stand among all ranks', the anchor first.

    Raises:
        ValueError: no rank has it, or nobody knows the ids; on every rank alike.
    """
    anchor, own = collectives.number_of(rule.anchor), [collectives.number_of(one) for one in names_of(ids)]
    device = next(iter(named.values())).device
    every = [one for row in collectives.numbers_of_ranks(own, device, group) for one in row]
    rule.check(anchor in every)
    every.sort(key=lambda one: one != anchor)
    return [every.index(one) for one in own]


def _spread(own: Statistics, places: Sequence[int], total: int) -> Statistics:
    """Put this rank's gradients where they stand among all ranks', with zeros at the others."""
    each = own.gradient.new_zeros(total, *own.gradient.shape)
    if own.each is not None:
        each[list(places)] = own.each
    return own._replace(each=each)


def _leave(named: Mapping[str, Tensor], gradients: Mapping[str, Tensor], adds: bool) -> None:
    for name, gradient in gradients.items():
        if adds:
            deliver(named[name], gradient)
        else:  # in the place of what loss.backward() left, for which hooks have run
            named[name].grad = gradient


def _named(parameters: Mapping[str, Tensor] | nn.Module) -> dict[str, Tensor]:
    if not isinstance(parameters, nn.Module | Mapping) or isinstance(parameters, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"`parameters` should be a model, or parameters by name. Found {type(parameters).__name__}. Pass the model, or "
            "dict(model.named_parameters())."
        )
    pairs = list(parameters.named_parameters() if isinstance(parameters, nn.Module) else parameters.items())
    for name, parameter in pairs:
        if not isinstance(parameter, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"`parameters` should hold tensors. Found {type(parameter).__name__} for {name!r}. Leave it out.")
        if parameter.requires_grad and parameter.is_complex():
            raise ValueError(
                f"`parameters` should be real: a complex gradient has no sign. Found {parameter.dtype} for {name!r}. "
                "Pass the others by name, {name: parameter, ...}, or hold it as torch.view_as_real does."
            )
    return {name: parameter for name, parameter in pairs if parameter.requires_grad}


def _check_statistics(statistics: object) -> None:
    """Reject what no Agreement has collected."""
    if statistics is None:
        return
    if not isinstance(statistics, Mapping) or not all(isinstance(one, Statistics) for one in statistics.values()):
        raise TypeError(
            f"`statistics` should hold Statistics by the parameter's name. Found {type(statistics).__name__}. Pass what an "
            "Agreement's collect() returns, or {} for a rank without data."
        )


def _single(named: Mapping[str, Tensor], rule: Rule) -> dict[str, Statistics]:
    """What one environment's gradients add up to."""
    found: dict[str, Statistics] = {}
    for name, parameter in named.items():
        if parameter.grad is not None:
            found[name] = of_one(dense(parameter.grad), rule)
    return found


class HookState:
    """What `agreement_hook` needs to know, and where it remembers of which parameters it has masked gradients.

    Args:
        rule: the same on every rank; applied parameter by parameter.
        group: the group of the DistributedDataParallel model; None for all processes.
    """

    def __init__(self, rule: Rule, group: ProcessGroup | None = None) -> None:
        self.rule = rule
        self.group = group
        self._guarded: dict[int, ref[Tensor]] = {}
        self._masked = False

    def guard(self, parameters: Sequence[Tensor], last: bool) -> None:
        """Have what comes next to these parameters' ``.grad`` checked, once all buckets of a pass are masked."""
        for parameter in parameters:
            known = self._guarded.get(id(parameter))
            if known is None or known() is not parameter:
                self._guarded[id(parameter)] = ref(parameter)
                parameter.register_hook(self._check_cleared)
        self._masked = self._masked or last

    def _check_cleared(self, gradient: Tensor) -> None:
        """Refuse to add a gradient to masked ones, in the first hook of a pass and so before any is changed."""
        del gradient
        if not self._masked:
            return
        held = [one.grad for known in self._guarded.values() if (one := known()) is not None and one.grad is not None]
        if any(bool(one.any()) for one in held):
            raise RuntimeError(
                "A gradient should be masked when it is whole, as a sum of masked ones is another. Found a backward pass that "
                "adds to gradients that the hook has masked. Run every pass but the last inside no_sync(), and zero_grad() "
                "after each step."
            )
        self._masked = False


@no_type_check  # torch asks for this return annotation and returns a base class of it, which run-time checkers refuse
def agreement_hook(state: HookState, bucket: distributed.GradBucket) -> torch.futures.Future[Tensor]:
    """Communication hook for DistributedDataParallel with one environment a rank: ``ddp.register_comm_hook(state, hook)``.

    ``loss.backward()`` on each rank's mean loss then leaves the combined gradient in ``.grad``. Gradients and signs of a bucket
    travel while the backward pass goes on. The sum of gradients is the backend's. A rank with several environments cannot use
    it, as their gradients are added before the hook sees them: see `combine_across_ranks`. Where the ranks' gradients add up
    to NaN or infinity, ``.grad`` is NaN on every rank, masked or not, as a `torch.amp.GradScaler` expects. Of several passes
    that are accumulated, all but the last belong inside ``no_sync()``: the whole gradient is masked then.

    Raises:
        TypeError: a state that is none, or holds no rule.
        ValueError: in the backward pass, a rule that asks how examples vary, which one gradient a rank does not say.
        RuntimeError: in the backward pass, where a rank is gone or does not answer within the group's timeout; in the next one,
            where it would add to masked gradients.
    """
    if not isinstance(state, HookState):
        raise TypeError(f"The hook's state should be a HookState. Found {type(state).__name__}. Pass HookState(AndMask()).")
    check_rule(state.rule)
    buffer, views = bucket.buffer(), bucket.gradients()
    world = distributed.get_world_size(state.group)
    # Taken before the buffer is overwritten by the sum.
    mine = [of_one(view, state.rule) for view in views]
    state.guard(bucket.parameters(), bucket.is_last())
    sums = {name: _flat(mine, name, world) for name in Statistics._fields[2:] if name in state.rule.needs}
    # The buffer itself travels where it is wide enough; gradients of two bytes are added up in four.
    total = buffer if buffer.dtype == mine[0].gradient.dtype else buffer.to(mine[0].gradient.dtype)
    futures = [collectives.all_reduce_later(tensor, state.group).get_future() for tensor in (total, *sums.values())]

    def finish(done: torch.futures.Future[list[torch.futures.Future[Tensor]]]) -> Tensor:
        with collectives.answering():
            for future in done.wait():
                future.wait()
        if "sign" in sums and world > BYTE:
            sums["sign"] = unpack_pairs(sums["sign"], world, buffer.shape)
        parts = {name: _split(flat, views) for name, flat in sums.items()}
        totals = _split(total, views)
        for k, view in enumerate(views):
            found = Statistics(world, totals[k].clone(), **{name: part[k] for name, part in parts.items()})
            # As above: neither a mask nor a vote hides a rank's NaN.
            view.copy_(state.rule(found).gradient.masked_fill(~torch.isfinite(totals[k]), torch.nan))
        return buffer

    return torch.futures.collect_all(futures).then(finish)


def _flat(found: list[Statistics], name: str, world: int) -> Shaped[Tensor, " n"] | Shaped[Tensor, " half"]:
    """One optional statistic of a bucket's parameters, end to end, as it travels."""
    flat = torch.cat([getattr(one, name).flatten() for one in found])
    return pack_pairs(flat, 1) if name == "sign" and world > BYTE else flat


def _split(flat: Tensor, views: list[Tensor]) -> list[Tensor]:
    parts = flat.split([view.numel() for view in views])
    return [part.view(view.shape) for part, view in zip(parts, views, strict=True)]
