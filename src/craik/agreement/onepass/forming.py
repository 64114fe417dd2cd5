"""From losses to every parameter's running sums: in one backward pass where layers have formulas, else the exact way."""

import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from craik.agreement.kernels.compiled import Compiled
from craik.agreement.onepass.capture import Recorder, forget
from craik.agreement.onepass.collected import Collected, Path
from craik.agreement.onepass.coupling import check_batch_norm, check_uncoupled
from craik.agreement.onepass.graph import Reads, check_reached, walk
from craik.agreement.onepass.layerwise import Calls, covered_calls, has_formulas, layer_pass
from craik.agreement.onepass.streaming import stream_environment_gradients
from craik.agreement.onepass.sums import RunningSums
from craik.agreement.onepass.verification import Check, check_against_autograd
from craik.environments import (
    EnvironmentIds,
    Environments,
    check_differentiable,
    check_finite_losses,
    check_unreduced,
    partition,
)

Complete = Callable[[str, RunningSums], None]
"""Told a parameter's name and sums as soon as they are complete."""


class _Asked(NamedTuple):
    """One call's losses and what they depend on.

    Attributes:
        losses: (B,) unreduced.
        groups: the partition of the batch.
        total: the sum over environments of their mean losses.
        reads: of their graph.
        parameters: the model's that are reached, by name.
        outside: leaves outside the model.
    """

    losses: Tensor
    groups: Environments
    total: Tensor
    reads: Reads
    parameters: dict[str, nn.Parameter]
    outside: list[Tensor]


class OnePass:
    """Forms the environment gradients of a model's losses, call after call.

    Args:
        model: any module; forward hooks note layer inputs until the recorder is closed.
        statistics: for models that couple the examples of a batch, as `craik.agreement.Agreement` says.
        compiled: kernels to use for what they take, or None for torch's operators.

    Attributes:
        recorder: what the latest forward pass left.
    """

    def __init__(self, model: nn.Module, statistics: str | None = None, compiled: Compiled | None = None) -> None:
        self.recorder = Recorder(model, has_formulas)
        self._model, self._statistics, self._compiled = model, statistics, compiled
        self._checks: dict[tuple[object, ...], Check] = {}

    def form(self, losses: Tensor, environments: EnvironmentIds, needs: frozenset[str], complete: Complete) -> Collected:
        """Form every reached parameter's running sums and hand them over one by one.

        Args:
            losses: (B,) one unreduced loss for each example; their graph is freed.
            environments: B integers.
            needs: the optional statistics that the rule reads.
            complete: takes the sums.

        Raises:
            TypeError, ValueError, RuntimeError: as `craik.agreement.Agreement.backward`.
        """
        with self._forward_pass_used():
            check_unreduced(losses)
            check_differentiable(losses)
            groups = partition(environments, len(losses), losses.device)
            weighted = losses * groups.mean_weights(losses)
            found = Collected(groups.ids, groups.sums(weighted.detach()))
            check_finite_losses(found.losses, groups)
            assert losses.grad_fn is not None  # check_differentiable has asked
            reads = walk(losses.grad_fn)
            found.parameters = {n: p for n, p in self._model.named_parameters() if id(p) in reads.leaves}
            check_reached(found.parameters)
            asked = _Asked(losses, groups, weighted.sum(), reads, found.parameters, _outside(reads, found.parameters))
            calls = self._verified_calls(asked, needs)
            found.paths, gradients = self._by_layer(asked, calls, needs, complete) if needs else _plain(asked, complete)
            pairs = zip(asked.outside, gradients, strict=False)
            found.outside = {leaf: gradient for leaf, gradient in pairs if gradient is not None}
        return found

    def _by_layer(
        self, asked: _Asked, calls: Calls, needs: frozenset[str], complete: Complete
    ) -> tuple[dict[str, Path], Sequence[Tensor | None]]:
        """Take the layers with formulas in one pass and the rest environment by environment."""
        blank = self._blank(needs)
        rest = {name: p for name, p in asked.parameters.items() if name not in calls}
        sums = {name: blank(asked.parameters[name]) for name in calls}
        # The leaves without formulas are asked for only so that the pass reaches every layer above them.
        others = [*asked.outside, *rest.values()]

        def done(name: str) -> None:
            complete(name, sums.pop(name))

        gradients = layer_pass(asked.total, calls, sums, asked.groups, done, others, retain_graph=bool(rest))
        streamed = stream_environment_gradients(asked.losses, asked.groups, rest, blank)
        paths: dict[str, Path] = {
            n: "layer" if n in calls else "per-environment" for n in asked.parameters if n in calls or n in streamed
        }
        for name in list(streamed):
            complete(name, streamed.pop(name))
        return paths, gradients

    def _verified_calls(self, asked: _Asked, needs: frozenset[str]) -> Calls:
        """Return the layer calls to treat layer by layer, checked against autograd the first time they are seen."""
        # As they were in the forward pass: a switch to eval() before the backward pass changes nothing about its graph.
        batch_norms, modes = self.recorder.batch_norms, self.recorder.modes
        losses, groups, parameters = asked.losses, asked.groups, asked.parameters
        if batch_norms:
            check_batch_norm(batch_norms[0], self._statistics, groups.count)
        if (batch_norms and self._statistics == "pooled") or not needs:
            return {}
        calls = covered_calls(self.recorder.captures, asked.reads, parameters, len(losses))
        # With one environment the check cannot see coupling, so it does not vouch for several.
        seen = (modes, groups.count > 1, tuple(calls), asked.reads.signature())
        check = self._checks.get(seen, Check(frozenset(), None, final=False, age=0))
        # Again after 10, 100, ... calls: what a model does with its data may change while its graph looks the same.
        if not check.final or (check.age >= 10 and str(check.age).strip("0") == "1"):
            check = check_against_autograd(losses, calls, parameters, groups, asked.outside, self._blank(needs), check.age)
        self._checks[seen] = check._replace(age=check.age + 1)
        check_uncoupled(check.coupled, self._statistics)
        return {name: uses for name, uses in calls.items() if name in check.verified}

    def _blank(self, needs: frozenset[str]) -> Callable[[Tensor], RunningSums]:
        return functools.partial(RunningSums, needs=needs, compiled=self._compiled)

    @contextmanager
    def _forward_pass_used(self) -> Generator[None]:
        """Forget the forward pass afterwards, and say in a sentence of ours if its graph was used up before."""
        # Checkpointed layers run again during the backward pass: that is no new forward pass.
        self.recorder.paused = True
        try:
            yield
        except RuntimeError as error:
            if "backward through the graph a second time" not in str(error):
                raise
            raise RuntimeError(
                "`losses` should come from a forward pass of their own. Found losses whose graph an earlier backward pass has "
                "used up. Run the model again; to add several losses, add them before the call."
            ) from None
        finally:
            self.recorder.paused = False
            forget(self.recorder.captures)


def _plain(asked: _Asked, complete: Complete) -> tuple[dict[str, Path], Sequence[Tensor | None]]:
    """One ordinary backward pass, for a rule that reads nothing but the sum."""
    parameters, paths = asked.parameters, dict[str, Path]()
    leaves = [*parameters.values(), *asked.outside]
    gradients: list[Tensor | None] = list(torch.autograd.grad(asked.total, leaves, allow_unused=True))
    for name, gradient in zip(parameters, gradients, strict=False):
        if gradient is not None:
            sums = RunningSums(gradient, frozenset())
            # Autograd may hand out one tensor for two parameters, or an expanded one; the rule works in its statistics' memory.
            sums.add_sums(asked.groups.count, gradient.clone(memory_format=torch.contiguous_format))
            complete(name, sums)
            paths[name] = "plain"
    return paths, gradients[len(parameters) :]


def _outside(reads: Reads, parameters: Mapping[str, nn.Parameter]) -> list[Tensor]:
    own = {id(parameter) for parameter in parameters.values()}
    return [leaf for key, leaf in reads.leaves.items() if key not in own]
