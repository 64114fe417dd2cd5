"""From losses to every parameter's running sums: in one backward pass where that is proved right, else by the definition."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mechlearn.agreement.engine.analysis.refusals import check_batch_norm
from mechlearn.agreement.engine.analysis.rows import Read
from mechlearn.agreement.engine.backward import LayerPass, PullingPass
from mechlearn.agreement.engine.collected import Collected, Path
from mechlearn.agreement.engine.delivery import silent, taken
from mechlearn.agreement.engine.held import Held, Stack
from mechlearn.agreement.engine.hooks import NOT_LINEAR, Retained, check_alike
from mechlearn.agreement.engine.layers.terms import CHUNK_ELEMENTS
from mechlearn.agreement.engine.masks import Masks
from mechlearn.agreement.engine.planning import (
    Asked,
    Partitions,
    Plan,
    ask,
    described,
    mean_losses,
    only_products,
    paths_of,
    reads_of_examples,
)
from mechlearn.agreement.engine.recomputed import reusable
from mechlearn.agreement.engine.state import load_state, saved_state
from mechlearn.agreement.engine.streaming import dense, passes_below, stream_environment_gradients
from mechlearn.agreement.engine.sums import RunningSums, SideBySide
from mechlearn.agreement.engine.sums.batched import ROOM, SMALL
from mechlearn.agreement.engine.sums.units import Lengths, UnitSums, of_model
from mechlearn.agreement.engine.variance.clusters import Clusters, unit_of
from mechlearn.agreement.engine.variance.gathering import Gathering
from mechlearn.agreement.engine.variance.sums import settled
from mechlearn.agreement.engine.verification import SpotChecks, by_definition, check_environment, precision_of
from mechlearn.agreement.inputs import READS
from mechlearn.agreement.kernels.compiled import Compiled, load
from mechlearn.agreement.rules import EACH, STANDARD_ERRORS
from mechlearn.agreement.standard_errors import PLAIN, StandardErrors
from mechlearn.environments import EnvironmentIds, Environments, check_finite_losses

_NO_UNITS = (
    "`normalise` should be None for a rule that tests for conflict, as it asks how environments' gradients vary. Found a rule "
    "that does and a norm. Divide each environment's losses by what they are instead, losses / losses.detach().mean()."
)

_USED_UP = (
    "`losses` should come from a forward pass of their own. Found losses whose graph an earlier backward pass has "
    "used up. Run the model again; to add several losses, add them before the call."
)

_SELECTIVE = (
    "A checkpoint in the model should be one that may be computed more than once, as formulas read what it saves in a pass of "
    "their own. Found selective activation checkpointing, which allows one pass. Call torch.utils.checkpoint.checkpoint "
    "without `context_fn`; no gradient was changed."
)

Complete = Callable[[str, RunningSums], None]
"""Told a parameter's name and sums as soon as they are complete."""

Form = Callable[[frozenset[str], Complete, bool], Collected]
"""What an engine does in a step: from what a rule needs, where sums go and whether small parameters wait for each other, it
forms every reached parameter's sums and says what else is known of the environments."""


class OnePass:
    """Forms the environment gradients of a model's losses, call after call; no call knows of another.

    Args:
        model: any module.
        statistics: for models that couple the examples of a batch, as `mechlearn.agreement.Agreement` says.
        compiled: kernels to use for what they take, or None for torch's operators.
        vouched: take for granted that operations that are not known keep rows apart and first.
        keep: names of parameters for which `mechlearn.agreement.by_input` is to have what it reads.
        normalise: divide each environment's gradient by its norm over the "model", or by those of its "tensor"s; or names of
            parameters whose gradients are divided by their own.
        checks: which calls are to be compared with the definition; None for none.
    """

    def __init__(
        self,
        model: nn.Module,
        statistics: str | None = None,
        compiled: Compiled | None = None,
        *,
        vouched: bool = False,
        keep: frozenset[str] = frozenset(),
        normalise: str | frozenset[str] | None = None,
        checks: SpotChecks | None = None,
    ) -> None:
        self._checks = checks or SpotChecks(None)
        self._model, self._statistics, self._compiled, self._vouched = model, statistics, compiled, vouched
        self._keep, self._normalise = keep, normalise
        self._partitions = Partitions()
        self._gathering = Gathering(PLAIN, compiled)
        self._warned = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made of: kernels are loaded again where it is used."""
        return self.__dict__ | {"_compiled": self._compiled is not None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._compiled = load() if state["_compiled"] else None

    def form(
        self,
        losses: Tensor,
        environments: EnvironmentIds,
        needs: frozenset[str],
        complete: Complete,
        refuse_nonfinite: bool = True,
        *,
        together: bool = False,
    ) -> Collected:
        """Form every reached parameter's running sums and hand them over one by one.

        Args:
            losses: (B,) one unreduced loss for each example; their graph is freed.
            environments: B ids.
            needs: the optional statistics that the rule reads.
            complete: takes the sums.
            refuse_nonfinite: refuse losses that are not finite.
            together: leave small parameters' gradients side by side: their sums wait for each other.

        Raises:
            TypeError, ValueError, RuntimeError: as `mechlearn.agreement.Agreement.backward`.
        """
        try:
            with torch.no_grad():
                asked = ask(self._model, losses, environments, self._partitions)
                means = mean_losses(losses.detach(), asked.groups)
                if refuse_nonfinite:
                    check_finite_losses(means, asked.groups)
                return self._form(asked, means, needs, complete, together)
        except RuntimeError as error:
            if "selective activation checkpoint" in str(error):
                raise ValueError(_SELECTIVE) from None
            if "backward through the graph a second time" not in str(error):
                raise
            raise RuntimeError(_USED_UP) from None

    def _form(self, asked: Asked, means: Tensor, needs: frozenset[str], complete: Complete, together: bool) -> Collected:
        groups = asked.groups
        testing = bool(needs & STANDARD_ERRORS)
        if testing and self._normalise:
            raise ValueError(_NO_UNITS)
        each = needs == EACH
        whole = testing or (self._normalise and not each)
        ids = groups.ids.clone() if isinstance(groups.ids, Tensor) else groups.ids  # the user's from now on
        found = Collected(ids, means, asked.parameters, () if whole else groups.sizes)
        plain = self.takes_plain(needs, groups.count)
        compiled = () if plain else asked.graph.kinds
        with silent(asked.graph.leaves.values()), Retained(self._model) as retained, reusable(compiled):
            if plain:
                if needs:
                    check_batch_norm(asked.graph, self._model, self._statistics, groups.count)
                found.paths, gradients = _plain(asked, self._blank(needs, asked.parameters, groups.count), complete)
                retained.settle(1)
            else:
                if testing:
                    asked = asked._replace(groups=self._gathering.clusters(groups))
                chosen = paths_of(asked, self._statistics, vouched=self._vouched, pulling=not testing)
                found.proved = "proved" if chosen.proved else "declared"
                if not each or groups.count > 2:  # of two losses over one forward pass nothing is faster
                    self._warn(chosen, asked.groups)
                watch = self._checks.environment(groups.count) if chosen.reads else None
                chosen = chosen._replace(watch=watch)
                found.proved = found.proved if watch is None else "checked"
                found.paths, gradients = self._by_layer(asked, chosen, needs, complete, together, retained)
        if asked.outside:
            pairs = zip(asked.outside, gradients, strict=False)
            one = each and groups.count == 1
            found.outside = {leaf: gradient[None] if one else gradient for leaf, gradient in pairs if gradient is not None}
        return found

    def settled(self, held: Held, needs: frozenset[str]) -> Collected:
        """Return what held gradients add up to, for a rule of such needs; they are used up."""
        return held.settled(self._blank(needs, held.parameters, len(held.ids)), self._normalise == "model")

    def test_by(self, errors: StandardErrors) -> None:
        """Take standard errors so from now on; what was remembered in another way is forgotten."""
        if errors != self._gathering.errors:
            self._gathering = Gathering(errors, self._compiled)

    def keep(self) -> None:
        """Remember what the last call computed, where a rule wants memory: its step was taken."""
        self._gathering.keep()

    def forget(self) -> None:
        """Remember nothing of the last call: its step failed, or was given up."""
        self._gathering.forget()

    def state(self, masks: Masks) -> dict[str, Any]:
        """Return what is remembered from step to step, with a rule's masks (`mechlearn.agreement.engine.state`)."""
        return saved_state(self._gathering, masks)

    def load(self, state: object, masks: Masks) -> None:
        """Go on where the agreement was of which a state is.

        Raises:
            TypeError, ValueError: as `mechlearn.agreement.engine.state.load_state`.
        """
        load_state(state, self._gathering, masks, self._model)

    def takes_plain(self, needs: frozenset[str], count: int) -> bool:
        """Tell whether an ordinary backward pass gives all that is read: of one environment, or by a rule of sums alone."""
        whole = bool(needs & STANDARD_ERRORS) or (bool(self._normalise) and needs != EACH)
        return not whole and (count == 1 or not (needs or self._keep))

    def look(self, losses: Tensor, environments: EnvironmentIds, needs: frozenset[str]) -> tuple[Plan, Environments]:
        """Return how a call would form its gradients, and of what; nothing is computed, drawn or freed."""
        asked = ask(self._model, losses, environments, self._partitions)
        if needs & STANDARD_ERRORS:
            asked = asked._replace(groups=self._gathering.seen(asked.groups))
        testing = bool(needs & STANDARD_ERRORS)
        return paths_of(asked, self._statistics, vouched=self._vouched, pulling=not testing), asked.groups

    def _by_layer(
        self, asked: Asked, plan: Plan, needs: frozenset[str], complete: Complete, together: bool, retained: Retained
    ) -> tuple[dict[str, Path], Sequence[Tensor | None]]:
        """Take what is proved in one pass and the rest environment by environment."""
        if self._normalise == "model" and needs != EACH:
            return self._by_model_norm(asked, plan, needs, complete, retained)
        rest = {name: asked.parameters[name] for name in plan.reasons}

        def apart(examples: Clusters) -> dict[str, list[Read]]:
            return reads_of_examples(asked, plan, examples, vouched=self._vouched)

        partitions = self._gathering.partitions(asked.parameters, asked.groups, apart)
        parameters, count = asked.parameters, asked.groups.count
        blank = self._testing(needs, asked, partitions) if partitions else self._blank(needs, parameters, count, together)
        beside = {str(k): leaf for k, leaf in enumerate(asked.outside)} if needs == EACH else {}
        sums = {name: blank(asked.parameters[name]) for name in plan.reads}

        def done(name: str) -> None:
            complete(name, settled(sums.pop(name)))

        groups = asked.groups.environments if isinstance(asked.groups, Clusters) else asked.groups
        times = groups.count if plan.hooked else 1
        run = _passing(asked, plan, sums, done, partitions, times)
        weights = asked.weights if times == 1 else asked.weights / times
        others = [] if beside else asked.outside
        cut = plan.cut
        retain = bool(rest or beside or plan.watch is not None)
        gradients = run.run(asked.losses, weights, others, retain_graph=retain, at=None if cut is None else cut.edge)
        retained.settle(groups.count // times)
        _check_watched(asked, plan, run.watched, times, retain_graph=bool(rest or beside))
        retained.settle(groups.count)
        if beside:
            stacks = {key: Stack(leaf, groups.count) for key, leaf in beside.items()}
            of_beside = {id(leaf): stacks[key] for key, leaf in beside.items()}
            found = stream_environment_gradients(asked.losses, asked.groups, beside, lambda leaf: of_beside[id(leaf)])
            gradients = [stacks[key].rows() if key in found else None for key in beside]
            retained.settle(groups.count)
        passes = passes_below(cut, run.arrived, asked.groups)
        streamed = stream_environment_gradients(asked.losses, asked.groups, rest, blank, passes=passes)
        retained.settle(groups.count)
        paths: dict[str, Path] = {
            n: "layer" if n in plan.reads else "per-environment" for n in asked.parameters if n in plan.reads or n in streamed
        }
        for name in list(streamed):
            complete(name, settled(streamed.pop(name)))
        return paths, gradients

    def _by_model_norm(
        self, asked: Asked, plan: Plan, needs: frozenset[str], complete: Complete, retained: Retained
    ) -> tuple[dict[str, Path], Sequence[Tensor | None]]:
        """Take norms in a first pass, and in a second one what the losses divided by them add up to: gradients are linear.

        Dividing leaves signs as they are, so that they come out of the first pass, and an ordinary backward pass is the second;
        where single rows' products are all there is, their factors are kept, and multiplied when the norms are known.
        """
        wide = all(parameter.dtype in (torch.float32, torch.float64) for parameter in asked.parameters.values())
        signs_do = wide and needs <= {"sign"} and not self._keep
        once = signs_do and not plan.reasons and not plan.made and max(asked.groups.sizes) == 1 and only_products(plan.reads)
        if plan.hooked and not once:
            raise ValueError(NOT_LINEAR.format(found="a module with a full backward hook"))
        times = asked.groups.count if plan.hooked else 1
        wanted = needs if signs_do else frozenset[str]()
        found = {n: Lengths(p, wanted, self._compiled, keep=once) for n, p in asked.parameters.items()}
        rest = {name: asked.parameters[name] for name in plan.reasons}
        lengths: dict[str, RunningSums] = {name: found[name] for name in plan.reads}
        run = _passing(asked, plan, lengths, lambda _: None, times=times)
        weights = asked.weights if times == 1 else asked.weights / times
        outside = run.run(asked.losses, weights, asked.outside, retain_graph=not once or plan.watch is not None)
        retained.settle(asked.groups.count // times)
        _check_watched(asked, plan, run.watched, times, retain_graph=not once)
        retained.settle(asked.groups.count)
        of_rest = {id(parameter): found[name] for name, parameter in rest.items()}
        reached = stream_environment_gradients(asked.losses, asked.groups, rest, lambda parameter: of_rest[id(parameter)])
        retained.settle(asked.groups.count)
        norms = of_model(torch.stack([each.values() for each in found.values()], dim=1))
        formed: dict[str, RunningSums] = {n: found[n] for n in asked.parameters if n in plan.reads or n in reached}
        if once:
            for name in formed:
                own = found.pop(name)
                complete(name, own.with_gradient(own.weighted(norms), own=True))
        elif signs_do:
            _give_gradients(_divided(asked, norms), {name: found[name] for name in formed}, norms, complete)
        else:
            asked = _divided(asked, norms)
            blank = self._blank(needs, asked.parameters, asked.groups.count)
            formed = {name: blank(asked.parameters[name]) for name in plan.reads}
            again = _passing(asked, plan._replace(watch=None), formed, lambda _: None)
            again.run(asked.losses, asked.weights, retain_graph=bool(rest))
            _check_linear({name: sums.statistics().gradient for name, sums in formed.items()}, found, norms)
            formed |= stream_environment_gradients(asked.losses, asked.groups, rest, blank, norms)
            for name, sums in formed.items():
                complete(name, sums)
        retained.settle(1)
        return {n: "layer" if n in plan.reads else "per-environment" for n in asked.parameters if n in formed}, outside

    def _blank(
        self, needs: frozenset[str], parameters: Mapping[str, Tensor], count: int, together: bool = False
    ) -> Callable[[Tensor], RunningSums]:
        """Return what makes empty sums for one of these parameters and so many environments."""
        if needs == EACH:
            return partial(Stack, count=count)
        kept = {id(parameters[name]) for name in self._keep if name in parameters}
        unit = set[int]()
        if self._normalise not in (None, "model"):
            names = parameters if self._normalise == "tensor" else self._normalise or ()
            unit = {id(parameters[name]) for name in names if name in parameters}
        room = ROOM if together and needs == frozenset({"sign"}) and not self._keep else 0

        def blank(parameter: Tensor) -> RunningSums:
            nonlocal room
            wanted = needs | READS if id(parameter) in kept else needs
            if id(parameter) in unit:
                return UnitSums(parameter, wanted, self._compiled)
            size = parameter.numel()
            if size < SMALL and size * count <= min(room, CHUNK_ELEMENTS):
                room -= size * count
                return SideBySide(parameter, wanted, self._compiled)
            return RunningSums(parameter, wanted, self._compiled)

        return blank

    def _testing(
        self, needs: frozenset[str], asked: Asked, partitions: Mapping[str, Clusters]
    ) -> Callable[[Tensor], RunningSums]:
        """Return what makes empty sums for a parameter that see how its environments' gradients vary."""
        names = {id(parameter): name for name, parameter in asked.parameters.items()}

        def blank(parameter: Tensor) -> RunningSums:
            name = names[id(parameter)]
            return self._gathering.sums(name, parameter, needs | READS if name in self._keep else needs, partitions[name])

        return blank

    def _warn(self, plan: Plan, groups: Environments) -> None:
        """Say once what costs a backward pass an environment, or a part of one, and why; a batch's statistics ask for it."""
        asked_for = self._statistics == "pooled" or (self._statistics is not None and isinstance(groups, Clusters))
        if self._warned or not plan.reasons or asked_for:
            return
        self._warned = True
        total = len(plan.reasons) + len(plan.reads)
        warnings.warn(
            f"{len(plan.reasons)} of {total} parameters take one backward pass for each {unit_of(groups)}, here "
            f"{groups.count}, which is exact and slow: {described(plan.reasons)}. `Agreement.explain` lists all. Run the model "
            "for one environment at a time, with `accumulate` for each and `backward` for the last: a pass over its own rows. "
            "Or pass rows='independent' if an operation that is not known keeps rows apart.",
            stacklevel=8,
        )


def _passing(
    asked: Asked,
    plan: Plan,
    sums: Mapping[str, RunningSums],
    done: Callable[[str], None],
    partitions: Mapping[str, Clusters] | None = None,
    times: int = 1,
) -> LayerPass:
    if plan.made:
        return PullingPass(asked, plan, sums, done, times)
    return LayerPass(asked.graph, plan.reads, asked.groups, sums, done, partitions, times, plan.watch)


def _check_watched(asked: Asked, plan: Plan, found: Mapping[str, Tensor], times: int, *, retain_graph: bool) -> None:
    """Compare the environment that a pass was to watch, if it was, with the definition."""
    if plan.watch is None:
        return
    groups = asked.groups.environments if isinstance(asked.groups, Clusters) else asked.groups
    parameters = [asked.parameters[name] for name in plan.reads]
    rows, weights = groups.index == plan.watch, asked.weights / times
    gradients = by_definition(asked.losses, weights, rows, parameters, retain_graph=retain_graph)
    wanted = {n: None if g is None else g * times for n, g in zip(plan.reads, gradients, strict=True)}
    check_environment(found, wanted, lambda: groups.named(plan.watch or 0), precision_of(asked.graph.kinds))


def _divided(asked: Asked, norms: Tensor) -> Asked:
    """Return the same losses, each environment's divided by its norm."""
    return asked._replace(weights=asked.weights / norms.to(asked.weights.dtype)[asked.groups.index], outside=[])


def _check_linear(gradients: Mapping[str, Tensor], found: Mapping[str, Lengths], norms: Tensor) -> None:
    """Reject gradients of a second pass that are not what the first has found, divided: a hook has seen other numbers.

    They may be off by a part of their norms, and by what rounding leaves of gradients that are 0 in exact arithmetic: beside
    all of the model's, whose norm is 1 in each environment.
    """
    totals = {name: found[name].total(norms) for name in gradients}
    rounding = {n: _NOISE * torch.finfo(found[n].dtype).eps * len(norms) * g.numel() ** 0.5 for n, g in gradients.items()}
    allowed = {name: _SHARE * length + rounding[name] for name, (_, length) in totals.items()}
    own = {name: dense(one).sum(dtype=torch.float64) for name, one in gradients.items()}
    check_alike(own, {name: total for name, (total, _) in totals.items()}, allowed)


_SHARE = 0.1
"""Of the norms by which sums may be off: more than half precision inside a model leaves, less than a hook that clamps."""

_NOISE = 16
"""How many roundings beside a norm of 1 a gradient that should be 0 may have in each of its components."""


def _give_gradients(asked: Asked, signs: Mapping[str, Lengths], norms: Tensor, complete: Complete) -> None:
    """Run an ordinary backward pass, for parameters whose sums of signs are known."""
    leaves = [asked.parameters[name] for name in signs]
    gradients = torch.autograd.grad(asked.losses, leaves, asked.weights, materialize_grads=True)
    _check_linear(dict(zip(signs, gradients, strict=True)), signs, norms)
    for name, gradient in zip(signs, gradients, strict=True):
        complete(name, signs[name].with_gradient(dense(gradient)))


def _plain(
    asked: Asked, blank: Callable[[Tensor], RunningSums], complete: Complete
) -> tuple[dict[str, Path], Sequence[Tensor | None]]:
    """One ordinary backward pass of the mean over environments, for a rule that reads nothing else, or for one environment."""
    parameters, paths, count = asked.parameters, dict[str, Path](), asked.groups.count
    leaves = [*parameters.values(), *asked.outside]
    weights = asked.weights if count == 1 else asked.weights / count
    gradients: list[Tensor | None] = list(torch.autograd.grad(asked.losses, leaves, weights, allow_unused=True))
    for position, name in enumerate(parameters):
        own = taken(gradients, position)  # the rule works in its statistics' memory
        if own is not None:
            sums = blank(parameters[name])
            if count == 1:
                sums.add(own[None])
            else:
                sums.add_mean(count, own)
            complete(name, sums)
            paths[name] = "plain"
    return paths, [one if one is None or count == 1 else one * count for one in gradients[len(parameters) :]]
