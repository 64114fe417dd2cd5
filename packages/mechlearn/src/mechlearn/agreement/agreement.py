"""`Agreement`: one backward pass whose gradient is what the environments agree on."""

import warnings
from collections.abc import Callable, Mapping, Sequence, Sized
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mechlearn.agreement.distributed.processes import Processes, Ranks, check_each_step, hand_over
from mechlearn.agreement.engine.collected import Collected, OfEnvironments, Path, Record, overall
from mechlearn.agreement.engine.combining import combine_small, combine_sums, treats_components_alike
from mechlearn.agreement.engine.delivery import cast_all, deliver
from mechlearn.agreement.engine.explaining import Explanations, explained
from mechlearn.agreement.engine.forward import Complete, Form, OnePass
from mechlearn.agreement.engine.held import Held, put_first
from mechlearn.agreement.engine.masks import Masks
from mechlearn.agreement.engine.repeated import Repeated
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.engine.sums.batched import SMALL
from mechlearn.agreement.engine.verification import SpotChecks
from mechlearn.agreement.inputs import READS
from mechlearn.agreement.kernels.compiled import Compiled, load
from mechlearn.agreement.kernels.library import BuildError
from mechlearn.agreement.rules import EACH, Anchored, Rule, Statistics, check_rule
from mechlearn.agreement.standard_errors import PLAIN, StandardErrors
from mechlearn.arguments import check_flag, check_one_of, check_whole, worded
from mechlearn.environments import EnvironmentIds, Ids, check_finite_together, check_trainable, named

if TYPE_CHECKING:
    from mechlearn.agreement.compiled.step import CompiledStep


class Agreement:
    """Fill ``.grad`` with what a rule makes of the environments' gradients, and change nothing else.

    Call `backward` in place of ``loss.backward()``, with one unreduced loss for each example and its environment's id.

    Every call walks the autograd graph of its losses and proves for each parameter where examples of different environments
    stay apart (`mechlearn.agreement.engine.analysis`). Where they do, and each operation that reads the parameter has a formula
    (`mechlearn.agreement.engine.layers`), one backward pass serves all environments. The rest takes the definition: one
    backward pass an environment, which is exact for every graph. `Record.paths` says which, `explain` why, and one warning what
    it costs. Nothing is put on the model, and nothing is kept from call to call but what `StandardErrors` asks for: what is
    remembered, masks that are kept, how many steps were taken and the draw of halves. To go on where a run stopped, save
    `state_dict` beside the model's.

    As with ``loss.backward()``, gradients are added to what ``.grad`` holds, and a parameter that the losses do not
    reach is left alone. Tensors outside the model receive the plain mean gradient. A scaled loss
    (`torch.amp.GradScaler.scale`) scales the gradient and leaves the masks as they are. Weight decay and clipping act after
    this call and so after the mask.

    Args:
        model: any module with trainable parameters. It is neither wrapped nor changed.
        rule: how to combine, for example `AndMask`.
        statistics: for models that couple the examples of a batch, as BatchNorm in train mode does. None refuses them.
            "pooled" differentiates each environment's loss through the statistics of the whole batch, as the papers'
            code does, at the price of one backward pass for each environment. "per-environment" asks for one `accumulate`
            call for each environment, whose forward pass then has statistics of its own, and streams.
        refuse_nonfinite: raise where losses, or what the environments' gradients add up to, are NaN or infinite. Turn it off
            with a `torch.amp.GradScaler`, which skips such a step itself; such gradients are then NaN in ``.grad``, masked or
            not.
        kernel: "torch" uses torch's operators alone. "compiled" builds a few C functions with the system's compiler, once,
            and keeps them in the user's cache directory (`mechlearn.agreement.kernels.compiled`); they take sign sums of
            float32 on a CPU. Masks are the same bit for bit, gradients to rounding. It is no default as a library that starts
            compilers unasked surprises; where no compiler works a warning says so and torch's operators serve.
        rows: "independent" vouches that operations which are not known (a custom `torch.autograd.Function`, for example) treat
            each row of dimension 0 by itself and leave it instead. `Record.proved` is "declared" where that was needed.
            None takes the definition's path below such operations.
        keep: names of parameters whose sums over environments `Record.statistics` is to hold, for `by_input`; or "masks",
            alone or among them, for `Record.masks` to hold which components the rule let through, a byte a component, as
            `decay_masked` wants them; what `collect` returns then asks for the same where ranks are combined.
        normalise: divide each environment's gradient by its norm before the rule, so that each weighs the same however large
            its loss: "tensor" by the norm of each parameter's own, "model" by that over all parameters, which takes a second
            pass; names of parameters, to divide these alone by their own, as the published linear unit tests do with the
            weight (`mechlearn.agreement.normalised`). Masks of signs stay what they are.
        verify: compare one environment's gradient with the definition at the first of every so many calls, another environment
            each time: one backward pass more there (with `compile` a forward pass, too). It finds what no graph shows: hooks
            on tensors in the model that do not treat each row by itself, and ``rows="independent"`` where it is not true.
            `Record.proved` is "checked" in these calls. None compares nothing.

    Raises:
        TypeError: if `model` is no module, or `rule` is no rule or a rule's class.
        ValueError: if a name is no trainable parameter's, the model has no trainable parameters, or a choice of statistics,
            kernel, rows or norm is unknown.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import Agreement, AndMask
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0]])  # the second feature disagrees
        >>> agreement = Agreement(model, AndMask(threshold=1.0))
        >>> losses = (model(x)[:, 0] - 10.0) ** 2
        >>> record = agreement.backward(losses, environments=[0, 1])
        >>> (model.weight.grad != 0).tolist(), record.share, record.paths
        ([[True, False]], 0.5, {'weight': 'layer'})
    """

    @worded
    def __init__(
        self,
        model: nn.Module,
        rule: Rule,
        *,
        statistics: str | None = None,
        refuse_nonfinite: bool = True,
        kernel: str = "torch",
        rows: str | None = None,
        keep: Sequence[str] | str = (),
        normalise: str | Sequence[str] | None = None,
        verify: int | None = None,
    ) -> None:
        check_trainable(model)
        self._processes = Processes(model)
        check_rule(rule)
        check_flag("refuse_nonfinite", refuse_nonfinite)
        check_one_of("statistics", statistics, (None, "pooled", "per-environment"))
        check_one_of("kernel", kernel, ("torch", "compiled"))
        check_one_of("rows", rows, (None, "independent"))
        if verify is not None:
            check_whole("verify", verify, least=1)
        self.model = model
        self.rule = rule
        self.refuse_nonfinite = refuse_nonfinite
        compiled = _compiled_or_warn() if kernel == "compiled" else None
        self._keep, self._keep_masks = _kept(model, keep)
        self._statistics, self._normalise = statistics, normalise
        divided = _checked_norm(model, normalise)
        self._checks = SpotChecks(verify)
        vouched = rows is not None
        self._onepass = OnePass(
            model, statistics, compiled, vouched=vouched, keep=self._keep, normalise=divided, checks=self._checks
        )
        self._accumulated: Collected | Held | None = None
        self._versions: dict[int, int] = {}
        self._out_of_step = False
        self._repeated = Repeated()
        self._masks = self._masks_of(rule)

    @worded
    def backward(self, losses: Float[Tensor, "..."], environments: EnvironmentIds, *, hold: bool = False) -> Record:
        """Add the combined gradient of the environments' mean losses to ``.grad`` and free the losses' graph.

        Environments accumulated before (`accumulate`) are combined with these; if combining fails they are discarded.

        Args:
            losses: (B,) one unreduced loss for each example.
            environments: B ids, the environment of each example: integers, strings or whatever can be a key of a dict.
            hold: hold the gradient of each environment until all of it is there, in E times the parameters' memory, so that an
                environment may be on several ranks or in several calls of a step, as where a loader shuffles.

        Returns:
            Each environment's loss, and the share of every parameter's components that survived.

        Raises:
            TypeError: losses or ids of another type.
            ValueError: losses that are reduced or not differentiable, with ``refuse_nonfinite`` NaN or infinite (the message
                says in which environment), ids that do not fit, BatchNorm in train mode without ``statistics``, a checkpoint
                that is reentrant or selective. No gradient is touched then.
            FloatingPointError: the environments' gradients add up to NaN or infinity, or what is made of them, as by a rule
                that rescales, is beyond the parameter's type, with ``refuse_nonfinite``. No gradient is touched then.
            RuntimeError: the losses' graph was used up by an earlier backward pass.
        """

        def form(needs: frozenset[str], complete: Complete, together: bool) -> Collected:
            return self._onepass.form(losses, environments, needs, complete, self.refuse_nonfinite, together=together)

        check_flag("hold", hold)
        return self._backward(form, losses, hold)

    def _backward(self, form: Form, examples: Sized, hold: bool = False) -> Record:
        """Combine what an engine forms of a step's environments, of so many examples, and fill ``.grad``."""
        ranks = self._processes.ranks()
        if ranks is not None:
            return self._across(ranks, form, hold)
        masks = self._of_rule()
        masks.begin()
        gradients: dict[str, Tensor] = {}
        shares: dict[str, Tensor | int] = {}
        waiting: dict[str, RunningSums] = {}
        finite: dict[str, Tensor] = {}
        kept: dict[str, Statistics] = {}
        held = masks.wanted or not masks.decides
        together = not held and treats_components_alike(self.rule)

        def finish(name: str, sums: RunningSums) -> None:  # called inside `form`, or below; `combine_sums` applies the rule
            if name in self._keep:
                kept[name] = sums.statistics().clone()
            if held:
                gradients[name], shares[name] = masks.apply(name, sums, self.refuse_nonfinite)
            elif together and 0 < sums.shape.numel() < SMALL:
                waiting[name] = sums
            else:
                gradients[name], shares[name] = combine_sums(self.rule, name, sums, self.refuse_nonfinite, finite)

        stacks: dict[str, RunningSums] = {}
        if self._accumulated is None:
            self._onepass.forget()  # of a step that failed
            # Combined as soon as a parameter's sums are complete, so that no two parameters' sign sums exist at a time.
            each = self.rule.needs >= EACH  # whose order is known when all are formed
            found = form(masks.needs, stacks.__setitem__ if each else finish, together)
            if each:
                found.outside = {leaf: rows.sum(0) for leaf, rows in found.outside.items()}
            else:
                _warn_if_single(found.ids, len(examples))
        else:
            self._accumulate(form, hold)
            # From here on the sums are used up in place: a failure discards them, rather than leave half of them combined.
            found = self._taken()
            stacks = found.sums
            found.paths = {n: found.paths[n] for n, _ in self.model.named_parameters() if n in found.paths}
        if isinstance(self.rule, Anchored):
            put_first(self.rule, found.ids, stacks)
        for name, sums in stacks.items():
            finish(name, sums)
        for name, gradient, survivors in combine_small(self.rule, waiting, self.refuse_nonfinite):
            gradients[name], shares[name] = gradient, survivors
        check_finite_together(finite)
        gradients = cast_all(found.parameters, {name: gradients[name] for name in found.paths}, self.refuse_nonfinite)
        # Only now, when nothing can fail any more, is a gradient touched.
        reached = [found.parameters[name] for name in found.paths]
        self._repeated.warn(self.rule, reached)
        for name in found.paths:
            deliver(found.parameters[name], gradients[name])
        self._repeated.remember(reached)
        for leaf, gradient in found.outside.items():
            deliver(leaf, gradient / len(found.ids))
        self._onepass.keep()
        by_parameter = _shares({name: (shares[name], gradients[name].numel()) for name in found.paths})
        statistics = {name: kept[name] for name in found.paths if name in kept} or None
        share, held = overall(by_parameter, gradients), masks.close(found.paths)
        return Record(found.ids, found.losses, share, by_parameter, found.paths, found.proved, statistics, held)

    def _across(self, ranks: Ranks, form: Form, hold: bool) -> Record:
        """Combine what an engine forms with what other ranks have, and fill ``.grad`` on every rank alike."""
        masks = self._of_rule()
        check_each_step(self.rule, self._keep)
        masks.begin()
        try:
            with ranks.forming(lambda: self._accumulated):
                self._check_in_step()
                self._hold(form) if hold else self._form_further(form)
            if isinstance(self._accumulated, Held):
                ranks.gather(self._accumulated)
            found = self._taken()
        finally:  # where a step fails on one rank, all give up what they have accumulated for it
            self._accumulated = None
        parameters, gradients, survivors = ranks.combine(self.rule, self._for_ranks(found), self.refuse_nonfinite)
        # Only now, when nothing can fail any more, is a gradient touched.
        self._repeated.warn(self.rule, parameters.values())
        hand_over(parameters, gradients)
        self._repeated.remember(parameters.values())
        self._onepass.keep()
        masks.held = survivors.masks or {}
        paths: dict[str, Path] = {name: found.paths[name] for name in parameters if name in found.paths}
        share, held = overall(survivors, parameters), masks.close(masks.held)
        return Record(found.ids, found.losses, share, dict(survivors), paths, found.proved, None, held)

    def _for_ranks(self, found: Collected) -> OfEnvironments:
        collected = found.statistics()
        collected.keep_masks = self._keep_masks
        return collected

    @worded
    def accumulate(self, losses: Float[Tensor, "..."], environments: EnvironmentIds, *, hold: bool = False) -> None:
        """Add a micro-batch of further environments; the next `backward` combines all of them and applies the rule once.

        Every environment must be complete within one call, since its sign is taken there, or within calls in a row that hold
        it alone; an id that comes back otherwise is refused, unless gradients are held. Holds running sums of the parameters'
        size.

        Args:
            losses: as for `backward`.
            environments: as for `backward`.
            hold: as for `backward`; from the first call of a step on.

        Raises:
            TypeError, ValueError, RuntimeError: as `backward`; what was accumulated before is kept.
            ValueError: ``hold`` for a rule that asks how examples vary, or after a call without it.
        """
        check_flag("hold", hold)

        def form(needs: frozenset[str], complete: Complete, together: bool) -> Collected:
            return self._onepass.form(losses, environments, needs, complete, self.refuse_nonfinite, together=together)

        self._accumulate(form, hold)

    def _accumulate(self, form: Form, hold: bool = False) -> None:
        """Add what an engine forms of further environments, of a sharded model with its parameters gathered."""
        ranks = self._processes.ranks()
        try:
            with nullcontext() if ranks is None else ranks.whole():
                self._hold(form) if hold else self._form_further(form)
        except Exception:
            self._out_of_step = ranks is not None  # the others will wait for this rank in `backward`
            raise

    def _check_in_step(self) -> None:
        """End a step in which this rank has failed before, as the other ranks are still in that one."""
        if self._out_of_step:
            self._out_of_step = False
            raise RuntimeError(
                "Every rank should take every step. Found that `accumulate` failed on this one, whose step the others are in. "
                "That step and this one are dropped on all ranks; no gradient was changed."
            )

    def _check_unmoved(self) -> None:
        """Reject a further micro-batch at other parameters: gradients of a step are of one point."""
        versions = {id(one): getattr(one, "_local_tensor", one)._version for one in self.model.parameters()}
        if self._accumulated is None:
            self._versions = versions
        elif any(self._versions.get(one, version) != version for one, version in versions.items()):  # a copy has others
            raise ValueError(
                "Parameters should not change between the micro-batches of a step. Found that they did, as by an optimizer "
                "step. Call backward for the last micro-batch, before that step; discard() forgets what was accumulated."
            )

    def _hold(self, form: Form) -> None:
        """Add what an engine forms of further examples to their environments' gradients."""
        self._check_unmoved()
        held = Held() if self._accumulated is None else self._accumulated
        if not isinstance(held, Held):
            raise ValueError(
                "`hold` should be passed from the first call of a step on, as complete environments are not held. Found "
                f"{len(held.ids)} accumulated without it. Pass it there, or call discard() and begin anew."
            )
        held.check(self.rule)
        stacks: dict[str, RunningSums] = {}
        held.join(form(EACH, stacks.__setitem__, False), stacks)
        self._accumulated = held

    def _form_further(self, form: Form) -> None:
        masks = self._of_rule()
        if isinstance(self._accumulated, Held) or self.rule.needs >= EACH:
            self._hold(form)
            return
        self._check_unmoved()
        if self._accumulated is not None and masks.decides:
            self._accumulated.check(self.rule)
        if self._accumulated is None:
            self._onepass.forget()
        sums: dict[str, RunningSums] = {}
        found = form(masks.needs, sums.__setitem__, False)
        found.sums = sums
        if self._accumulated is None:
            self._accumulated = found
        else:
            self._accumulated.join(found)

    def _taken(self) -> Collected:
        """Return what was accumulated, which is forgotten; environments that are held are complete."""
        found, self._accumulated = self._accumulated, None
        assert found is not None
        return self._onepass.settled(found, self._of_rule().needs) if isinstance(found, Held) else found

    def _of_rule(self) -> Masks:
        """Return the masks of the current rule; with another one than before they are decided at once."""
        check_rule(self.rule)
        if self.rule != self._masks.rule:
            self._masks = self._masks_of(self.rule)
        return self._masks

    def _masks_of(self, rule: Rule) -> Masks:
        errors: StandardErrors = getattr(rule, "errors", PLAIN)
        self._onepass.test_by(errors)
        if rule.needs >= EACH and self._normalise:
            raise ValueError(
                "`normalise` should be None for a rule that reads each gradient. Found a norm. Divide a loss, or change the "
                "rule's weight."
            )
        return Masks(rule, errors.every, self._keep_masks)

    def collect(self) -> OfEnvironments:
        """Return what was accumulated, by parameter name, and forget it: to combine it elsewhere, as across ranks.

        What reaches tensors outside the model is dropped.

        Raises:
            ValueError: they were accumulated for a step whose masks are kept from an earlier `backward`
                (``StandardErrors(every=...)``), and so without what a rule decides by; they stay accumulated.
        """
        masks = self._of_rule()
        if self._accumulated is not None and masks.needs != self.rule.needs:
            raise ValueError(
                "What is collected should be of an agreement that decides masks at every step, as masks that it keeps are of "
                f"its own environments alone. Found {self.rule!r} between two of its decisions. Collect with an Agreement that "
                "takes no `backward`, or pass every=1."
            )
        collected = OfEnvironments() if self._accumulated is None else self._taken().statistics()
        self._onepass.keep()
        collected.keep_masks = self._keep_masks
        return collected

    def discard(self) -> None:
        """Forget what was accumulated, for instance after an error in the middle of a step."""
        self._accumulated = None
        self._onepass.forget()

    @worded
    def explain(self, losses: Float[Tensor, "..."], environments: EnvironmentIds) -> Explanations:
        """Return for each parameter how `backward` would form its environment gradients, why, and what that costs.

        Nothing is computed, freed or changed. Its string is a table of them.

        Args:
            losses: as for `backward`.
            environments: as for `backward`.

        Raises:
            TypeError, ValueError: as `backward`.
        """
        return explained(self._onepass, losses, environments, self._of_rule().needs)

    def compile(
        self, losses_of: Callable[..., Tensor], *, backend: str = "inductor", options: Mapping[str, object] | None = None
    ) -> "CompiledStep":
        """Return a step that traces and compiles a function of losses, forward and backward pass in one.

        Use it for a loop that would compile its model: compile through the agreement instead. The step is called with a batch
        and its ids, ``record = step(x, y, environments=ids)``, and fills ``.grad`` as `backward` does, with the same masks.

        It needs no formula for an operation: weight norm, a product of two parameters, a penalty in the losses and second
        derivatives are served where the traced graph shows that environments stay apart. A call for which it does not, or that
        cannot be traced as one graph, is the eager engine's, exact as ever; ``step.reason`` says why. Another number of
        environments needs no new trace, another number of rows one.

        It takes torch 2.13, or a later one with the same hooks for traced graphs; with another torch the eager engine serves.

        Args:
            losses_of: from the batch's tensors to (B,) losses, one for each row. What is not by row it closes over.
            backend: "inductor" compiles; "aot_eager" runs the traced graph without a compiler.
            options: of Inductor, such as {"triton.cudagraphs": True}.

        Raises:
            TypeError: no function.
            ValueError: another backend.
        """
        if not callable(losses_of):  # pyright: ignore[reportUnnecessaryComparison]  # a public door
            raise TypeError(
                f"`losses_of` should be a function of a batch. Found {type(losses_of).__name__}. Pass a function that returns "
                "one loss for each row."
            )
        check_one_of("backend", backend, ("inductor", "aot_eager"))
        from mechlearn.agreement.compiled.step import CompiledStep, Doors, refusal  # noqa: PLC0415  # a third of the import

        def refused(needs: frozenset[str]) -> str | None:
            return refusal(needs, self._statistics, self._normalise)

        forms = self._backward, self._accumulate, self._onepass.form
        doors = Doors(self.model, *forms, READS if self._keep else frozenset(), refused, self.refuse_nonfinite, self._checks)
        return CompiledStep(doors, losses_of, backend, dict(options or {}))

    def state_dict(self) -> dict[str, Any]:
        """Return what `StandardErrors` asks to remember between steps, as ``torch.load(weights_only=True)`` takes it.

        Without memory or kept masks it is the number of steps and little else. Tensors are copies.

        Raises:
            ValueError: in the middle of a step, with environments accumulated.
        """
        self._check_between("saved")
        return self._onepass.state(self._of_rule())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another agreement of the same rule and model was; tensors are copied to the parameters' devices.

        Raises:
            TypeError: no state.
            ValueError: a state of another rule or model, or in the middle of a step. Nothing is loaded then.
        """
        self._check_between("loaded")
        self._onepass.load(state, self._of_rule())

    def _check_between(self, what: str) -> None:
        if self._accumulated is not None:
            raise ValueError(
                f"A state should be {what} between two steps. Found environments accumulated for the next one. Take that step, "
                "or call discard(), before."
            )

    def close(self) -> None:
        """Do nothing: there is nothing to remove. Kept so that ``with`` blocks may say how long an agreement is used."""

    def __enter__(self) -> "Agreement":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _compiled_or_warn() -> Compiled | None:
    try:
        return load()
    except BuildError as reason:
        warnings.warn(
            f"kernel='compiled' should find a C compiler that works. Found {reason}. torch's operators are used, with "
            "the same masks; pass kernel='torch' to choose them.",
            stacklevel=4,
        )
        return None


def _checked_norm(model: nn.Module, normalise: object) -> str | frozenset[str] | None:
    if isinstance(normalise, list | tuple | set | frozenset):
        return _checked_names(model, normalise, "normalise")
    check_one_of("normalise", normalise, (None, "tensor", "model"), way_out="Or pass a list of parameters' names.")
    return normalise if isinstance(normalise, str) else None


def _kept(model: nn.Module, keep: object) -> tuple[frozenset[str], bool]:
    """Return names of parameters, and whether masks are asked for; in a list a parameter of that name is meant first."""
    if isinstance(keep, str) and keep == "masks":
        return frozenset(), True
    if not isinstance(keep, list | tuple | set | frozenset) or "masks" not in keep or "masks" in dict(model.named_parameters()):
        return _checked_names(model, keep), False
    return _checked_names(model, [name for name in keep if name != "masks"]), True  # pyright: ignore[reportUnknownVariableType]


def _checked_names(model: nn.Module, keep: object, argument: str = "keep") -> frozenset[str]:
    """Reject names of parameters that the model does not have, or does not train."""
    known = sorted(name for name, parameter in model.named_parameters() if parameter.requires_grad)
    names = keep if isinstance(keep, list | tuple | set | frozenset) else None
    if names is None or any(name not in known for name in names):
        raise ValueError(
            f"`{argument}` should be a list of trainable parameters' names, such as {known[0]!r}. Found {keep!r}. See "
            "named_parameters()."
        )
    return frozenset(names)


def _shares(survivors: Mapping[str, tuple[Tensor | int, int]]) -> dict[str, float]:
    """Return the share of components that survive, from their number and that of all; all of a parameter without any."""
    waiting = {name: count for name, (count, _) in survivors.items() if isinstance(count, Tensor)}
    # One wait for a device, not one for each parameter.
    fetched = dict(zip(waiting, torch.stack(list(waiting.values())).tolist(), strict=True)) if waiting else {}
    counts = {name: fetched[name] if isinstance(count, Tensor) else count for name, (count, _) in survivors.items()}
    return {name: counts[name] / size if size else 1.0 for name, (_, size) in survivors.items()}


def _warn_if_single(ids: Ids, examples: int) -> None:
    if len(ids) == 1:
        warnings.warn(
            f"All {examples} losses belong to environment {named(ids, 0)}. With a single environment there is nothing to agree "
            "on: give each site, camera or simulator an id of its own.",
            stacklevel=5,
        )
