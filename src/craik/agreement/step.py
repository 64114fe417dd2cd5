"""`Agreement`: one backward pass whose gradient is what the environments agree on."""

import warnings
from types import TracebackType

import torch
from jaxtyping import Float
from torch import Tensor, nn

from craik.agreement.kernels.compiled import BuildError, Compiled, load
from craik.agreement.onepass.collected import Collected, Record
from craik.agreement.onepass.delivery import deliver
from craik.agreement.onepass.explaining import Explanation, explained
from craik.agreement.onepass.forming import OnePass
from craik.agreement.onepass.masks import Masks
from craik.agreement.onepass.refusals import check_model
from craik.agreement.onepass.sums import RunningSums
from craik.agreement.rules import Rule, Statistics
from craik.agreement.standard_errors import StandardErrors
from craik.arguments import check_one_of
from craik.environments import EnvironmentIds


class Agreement:
    """Fills ``.grad`` with what a rule makes of the environments' gradients; everything else stays the user's.

    Use it where ``loss.backward()`` stood, with one unreduced loss for each example and its environment's id.

    Every call walks the autograd graph of its losses and proves for each parameter where examples of different environments
    stay apart (`craik.agreement.onepass.proof`). Where they do, and each operation that reads the parameter has a formula
    (`craik.agreement.onepass.reads`), one backward pass serves all environments. The rest takes the definition: one backward
    pass an environment, which is exact for every graph. `Record.paths` says which, `explain` why, and one warning what it
    costs. Nothing is kept from call to call, and nothing is put on the model.

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
        refuse_nonfinite: raise where the environments' gradients add up to NaN or infinity. Turn it off with a
            `torch.amp.GradScaler`, which skips such a step itself; they are then NaN in ``.grad``, masked or not.
        kernel: "torch" uses torch's operators alone. "compiled" builds a few C functions with the system's compiler, once,
            and keeps them in the user's cache directory (`craik.agreement.kernels.compiled`); they take sign sums of float32
            on a CPU. Masks are the same bit for bit, gradients to rounding. It is no default as a library that starts
            compilers unasked surprises; where no compiler works a warning says so and torch's operators serve.
        rows: "independent" vouches that operations which are not known (a custom `torch.autograd.Function`, for example) treat
            each row of dimension 0 by itself and leave it in its place. `Record.proved` is False where that was needed. None
            takes the definition's path below such operations.
        errors: how standard errors are taken, for rules that test for conflict (`Qualitative`, `Homogeneous`, `Heterogeneous`).
        masks: keep in `Record.masks` which components the rule let through, a byte a component, as `decay_masked` wants them.

    Raises:
        TypeError: no rule, or a rule's class.
        ValueError: a model without trainable parameters or compiled by `torch.compile`, an unknown choice of statistics, of
            kernel or of rows.

    Example:
        >>> import torch
        >>> from craik.agreement import Agreement, AndMask
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0]])  # the second feature disagrees
        >>> agreement = Agreement(model, AndMask(threshold=1.0))
        >>> losses = (model(x)[:, 0] - 10.0) ** 2
        >>> record = agreement.backward(losses, environments=[0, 1])
        >>> (model.weight.grad != 0).tolist(), record.survivors, record.paths
        ([[True, False]], {'weight': 0.5}, {'weight': 'layer'})
    """

    def __init__(
        self,
        model: nn.Module,
        rule: Rule,
        *,
        statistics: str | None = None,
        refuse_nonfinite: bool = True,
        kernel: str = "torch",
        rows: str | None = None,
        errors: StandardErrors = StandardErrors(),  # noqa: B008  # frozen
        masks: bool = False,
    ) -> None:
        check_model(model)
        if isinstance(rule, type) or not callable(rule) or not hasattr(rule, "needs"):
            raise TypeError(f"`rule` should be a rule such as AndMask(). Found {rule!r}. Pass an instance of one.")
        check_one_of("statistics", statistics, (None, "pooled", "per-environment"))
        check_one_of("kernel", kernel, ("torch", "compiled"))
        check_one_of("rows", rows, (None, "independent"))
        self.model = model
        self.rule = rule
        self.refuse_nonfinite = refuse_nonfinite
        compiled = _compiled_or_warn() if kernel == "compiled" else None
        self._onepass = OnePass(model, statistics, compiled, errors, vouched=rows is not None)
        self._accumulated: Collected | None = None
        self._masks = Masks(errors.every, keep=masks)

    def backward(self, losses: Float[Tensor, "..."], environments: EnvironmentIds) -> Record:
        """Add the combined gradient of the environments' mean losses to ``.grad`` and free the losses' graph.

        Environments accumulated before (`accumulate`) are combined with these; if combining fails they are discarded.

        Args:
            losses: (B,) one unreduced loss for each example, made by the model's latest forward pass.
            environments: B integers, the environment of each example; any integers, environments of any sizes.

        Returns:
            Each environment's loss, and the share of every parameter's components that survived.

        Raises:
            TypeError: environment ids that are not integers.
            ValueError: losses that are reduced, not differentiable, NaN or infinite (the message says in which environment),
                ids that do not fit, examples that are coupled without ``statistics``. No gradient is touched then.
            FloatingPointError: the environments' gradients add up to NaN or infinity. No gradient is touched then.
            RuntimeError: the losses' graph was used up by an earlier backward pass.
        """
        gradients: dict[str, Tensor] = {}
        shares: dict[str, Tensor] = {}
        masks = self._masks.of_step(self.rule)

        def finish(name: str, sums: RunningSums) -> None:  # called inside `form`, or below; the rule is applied here
            gradients[name], survivors = masks.apply(name, sums, self.refuse_nonfinite)
            shares[name] = survivors / gradients[name].numel()

        if self._accumulated is None:
            # Combined as soon as a parameter's sums are complete, so that no two parameters' sign sums exist at a time.
            found = self._onepass.form(losses, environments, masks.needs, finish)
            _warn_if_single(found.ids, len(losses))
        else:
            self.accumulate(losses, environments)
            # From here on the sums are used up in place: a failure discards them, rather than leave half of them combined.
            found, self._accumulated = self._accumulated, None
            for name, sums in found.sums.items():
                finish(name, sums)
        # Only now, when nothing can fail any more, is a gradient touched.
        kept = self._masks.close()
        for name in found.paths:
            deliver(found.parameters[name], gradients[name])
        for leaf, gradient in found.outside.items():
            deliver(leaf, gradient / len(found.ids))
        survivors = torch.stack([shares[name] for name in found.paths]).tolist() if found.paths else []
        return Record(found.ids, found.losses, dict(zip(found.paths, survivors, strict=True)), found.paths, found.proved, kept)

    def accumulate(self, losses: Float[Tensor, "..."], environments: EnvironmentIds) -> None:
        """Add a micro-batch of further environments; the next `backward` combines all of them and applies the rule once.

        Every environment must be complete within one call, since its sign is taken there: ids need to be distinct within
        a call only, and an id that comes back counts as another environment. Holds running sums of the parameters' size.

        Args:
            losses: as for `backward`.
            environments: as for `backward`.

        Raises:
            TypeError, ValueError, RuntimeError: as `backward`; what was accumulated before is kept.
        """
        sums: dict[str, RunningSums] = {}
        needs = self._masks.of_step(self.rule).needs
        found = self._onepass.form(losses, environments, needs, sums.__setitem__)
        found.sums = sums
        if self._accumulated is None:
            self._accumulated = found
        else:
            self._accumulated.join(found)

    def collect(self) -> dict[str, Statistics]:
        """Return what was accumulated, by parameter name, and forget it: to combine it elsewhere, as across ranks.

        What reaches tensors outside the model is dropped.
        """
        found, self._accumulated = self._accumulated, None
        return {} if found is None else {name: sums.statistics() for name, sums in found.sums.items()}

    def discard(self) -> None:
        """Forget what was accumulated, for instance after an error in the middle of a step."""
        self._accumulated = None

    def explain(self, losses: Float[Tensor, "..."], environments: EnvironmentIds) -> list[Explanation]:
        """Return for each parameter how `backward` would form its environment gradients, why, and what that costs.

        Nothing is computed, freed or changed; ``print(table(explanations))`` of `craik.agreement.explaining` shows it.

        Args:
            losses: as for `backward`.
            environments: as for `backward`.

        Raises:
            TypeError, ValueError: as `backward`.
        """
        return explained(self._onepass, losses, environments, self.rule.needs)

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
            stacklevel=3,
        )
        return None


def _warn_if_single(ids: Tensor, examples: int) -> None:
    if len(ids) == 1:
        warnings.warn(
            f"All {examples} losses belong to environment {int(ids[0])}. With a single environment there is nothing to agree "
            "on: give each site, camera or simulator an id of its own.",
            stacklevel=3,
        )
