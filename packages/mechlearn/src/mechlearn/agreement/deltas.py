"""Differences of models instead of gradients: task vectors, LoRA adapters and federated updates, merged by the same rules."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor

from mechlearn.agreement.rules import STANDARD_ERRORS, Anchored, Rule, check_rule
from mechlearn.agreement.stacked import combine
from mechlearn.arguments import (
    FLOATS,
    check_all_finite,
    check_decay,
    check_generator,
    check_kind,
    check_params,
    check_positive,
    check_returned,
    check_share,
)
from mechlearn.scaling import widened

Deltas = Mapping[Any, Mapping[str, Tensor]]
"""By source, what it added to each tensor of the model that all sources began with."""


def merge(rule: Rule | Callable[[Tensor], Tensor], deltas: Deltas) -> dict[str, Tensor]:
    """Combine several sources' deltas with a rule, and return the result by name.

    Use it to merge fine-tuned models or adapters, or clients' updates in a federated round. Add the result to what all
    sources began with. Each source counts once: `Mean` averages models. A rule sees deltas as it sees gradients, so
    `AndMask` keeps the components that all sources moved in one direction.

    Args:
        rule: how to combine each tensor, for example `AndMask`. An `Anchored` names a source as its anchor. Or a function from
            all deltas, (E, P) with one source a row, to (P,), such as `mechlearn.penalties.cagrad`.
        deltas: by source, tensors by name: a fine-tuned ``state_dict`` minus the one it began with.

    Returns:
        Tensors by name, in the shapes and types of the deltas.

    Raises:
        TypeError: if there is no rule, a delta is not a dense tensor of floats, or a function returns no tensor of floats.
        ValueError: if there are fewer than two sources, they differ in names or shapes, a delta is not finite, the rule reads
            how examples vary, or a function returns another shape.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import AndMask, merge
        >>> merge(AndMask(1.0), {"maths": {"w": torch.tensor([1.0, 1.0])}, "code": {"w": torch.tensor([3.0, -1.0])}})
        {'w': tensor([2., 0.])}
    """
    check_deltas(deltas)
    if not isinstance(rule, Rule):
        return _of_function(rule, deltas)
    check_rule(rule)
    if rule.needs & STANDARD_ERRORS:
        raise ValueError(
            "A rule for deltas should read deltas alone. Found "
            f"{rule!r}, which reads how each source's examples vary. Use AndMask or SignalToNoiseMask, or ties."
        )
    if isinstance(rule, Anchored):
        rule.check(rule.anchor in deltas, deltas)
        rule = replace(rule, anchor=list(deltas).index(rule.anchor))
    return {name: combine(rule, rows).gradient for name, rows in _stacked(deltas)}


def ties(deltas: Deltas, keep: float = 0.2) -> dict[str, Tensor]:
    """Return the TIES merge: trim each source, elect a sign, and average the sources that have it.

    A source keeps its largest components, over all of its tensors together. A component's sign is that of the sum over
    sources. Sources with the other sign, and those that were trimmed there, do not count in its mean. Equal magnitudes at
    the limit are all kept. A sum of exactly 0 elects no sign, so the result is 0.

    Source: Yadav et al. 2023, algorithm 1 (https://arxiv.org/abs/2306.01708). Multiply the result by their lambda, and add
    it to what all sources began with.

    Args:
        deltas: by source, tensors by name, as for `merge`.
        keep: share of components that a source keeps, above 0 and at most 1. 1 trims nothing.

    Returns:
        Tensors by name, in the shapes and types of the deltas.

    Raises:
        TypeError: if a delta is not a dense tensor of floats, or the share is not a number.
        ValueError: if there are fewer than two sources, they differ in names or shapes, a delta is not finite, or the share is
            out of its range.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import ties
        >>> deltas = {"maths": {"w": torch.tensor([4.0, 1.0])}, "code": {"w": torch.tensor([2.0, -3.0])}}
        >>> ties(deltas, keep=1.0)
        {'w': tensor([ 3., -3.])}
    """
    check_deltas(deltas)
    check_share("keep", keep, way_out="0.2 is the paper's default.")
    check_positive("keep", keep, way_out="0.2 is the paper's default.")
    least = [_least_kept(tensors, keep) for tensors in deltas.values()]
    merged: dict[str, Tensor] = {}
    for name, stack in _stacked(deltas):
        rows = widened(stack)
        limits = torch.stack(least).view(-1, *[1] * (rows.dim() - 1))
        trimmed = rows.where(rows.abs() >= limits, 0)
        elected = trimmed.sum(0).sign()
        agrees = (trimmed.sign() == elected) & (elected != 0)
        merged[name] = (trimmed.where(agrees, 0).sum(0) / agrees.sum(0).clamp(min=1)).to(stack.dtype)
    return merged


def dare(deltas: Deltas, drop: float, generator: Generator) -> dict[Any, dict[str, Tensor]]:
    """Return deltas with a random share set to 0, and the rest divided by 1 - drop.

    Each component of each source is drawn by itself, and its expectation is unchanged. Merge the result: with `Mean` it is
    DARE averaging, with ``ties(..., keep=1.0)`` it is DARE with TIES. An AND-mask needs all sources: at a drop of 0.9 it keeps
    1 % of the components on which two sources agree.

    Source: Yu et al. 2023, section 3 (https://arxiv.org/abs/2311.03099).

    Args:
        deltas: by source, tensors by name, as for `merge`.
        drop: the probability p that a component is dropped, in [0, 1).
        generator: of the draws, on the deltas' device.

    Raises:
        TypeError: if a delta is not a dense tensor of floats, the probability is not a number, or there is no generator.
        ValueError: if there are fewer than two sources, they differ in names or shapes, a delta is not finite, the
            probability is out of its range, or the generator is on another device.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import dare
        >>> first, _ = dare({k: {"w": torch.ones(4)} for k in range(2)}, 0.5, torch.Generator().manual_seed(0)).values()
        >>> sorted(set(first["w"].tolist()))
        [0.0, 2.0]
    """
    check_deltas(deltas)
    check_decay("drop", drop, why="the probability that a component is dropped", way_out="0.9 is usual.")
    check_generator("generator", generator, beside=next(iter(next(iter(deltas.values())).values())))

    def dropped(delta: Tensor) -> Tensor:
        kept = torch.rand(delta.shape, generator=generator, device=delta.device) >= drop
        return delta.detach().where(kept, 0) / (1 - drop)

    return {source: {name: dropped(delta) for name, delta in tensors.items()} for source, tensors in deltas.items()}


def check_deltas(deltas: Deltas) -> None:
    """Reject anything but sources with deltas of the same tensors.

    Raises:
        TypeError: if they are no dictionaries of dense tensors of floats.
        ValueError: if there are fewer than two sources, they differ in names, shapes, types or devices, or one is not finite.
    """
    way_out = "Pass {source: {name: tensor}}, what each source added to the tensors that all began with."
    check_kind("deltas", deltas, Mapping, "a dictionary of sources", way_out=way_out)
    if len(deltas) < 2:
        raise ValueError(f"`deltas` should hold two sources or more. Found {len(deltas)}. {way_out}")
    first = next(iter(deltas))
    for source, tensors in deltas.items():
        check_params(f"deltas[{source!r}]", tensors, way_out=way_out)
        if set(tensors) != set(deltas[first]):
            other = sorted(set(tensors) ^ set(deltas[first]), key=str)[:3]
            raise ValueError(
                f"All sources should have tensors of the same names. Found {other} of {first!r} or of {source!r} alone. Leave "
                "such tensors out, or give the other source zeros."
            )
        for name, delta in tensors.items():
            _check_delta(f"deltas[{source!r}][{name!r}]", delta, deltas[first][name])


def _check_delta(name: str, delta: Tensor, like: Tensor) -> None:
    if delta.layout != torch.strided or delta.is_nested or delta.dtype not in FLOATS or delta.is_meta:
        raise TypeError(
            f"`{name}` should be a dense tensor of floats of two bytes or more. Found {delta.layout} of {delta.dtype} on "
            f"{delta.device}. Leave counters such as `num_batches_tracked` out, and dequantise the rest."
        )
    own, theirs = ((tuple(one.shape), one.dtype, str(one.device)) for one in (delta, like))
    if own != theirs:
        raise ValueError(
            f"`{name}` should have the shape, type and device of the first source's. Found {own} and {theirs}. Merge models "
            "of one kind; for LoRA adapters of different ranks, merge the products B A."
        )
    check_all_finite(name, delta, way_out="Leave that source out.")


def _of_function(function: Callable[[Tensor], Tensor], deltas: Deltas) -> dict[str, Tensor]:
    """Merge whole deltas, one source a row, with a function of them."""
    if isinstance(function, type) or not callable(function):
        check_rule(function)
    rows = torch.cat([stack.unsqueeze(-1).flatten(1) for _, stack in _stacked(deltas)], 1)
    found = function(rows)
    check_returned("rule", found, "one number for each component", rows.shape[1])
    first = next(iter(deltas.values()))
    pieces = found.split([delta.numel() for delta in first.values()])
    return {name: piece.view(delta.shape).to(delta.dtype) for piece, (name, delta) in zip(pieces, first.items(), strict=True)}


def _stacked(deltas: Deltas) -> Iterator[tuple[str, Tensor]]:
    """Yield each tensor of all sources, one source a row, so that one tensor at a time is copied."""
    for name in next(iter(deltas.values())):
        yield name, torch.stack([tensors[name].detach() for tensors in deltas.values()])


def _least_kept(tensors: Mapping[str, Tensor], keep: float) -> Tensor:
    """Return the smallest magnitude that a source keeps."""
    every = torch.cat([widened(delta.detach()).abs().flatten() for delta in tensors.values()])
    count = max(1, round(keep * every.numel()))
    return every.kthvalue(every.numel() - count + 1).values if every.numel() else every.new_zeros(())
