r"""Adam with a temporal AND-mask: environments come one after another, and agreement is counted over time.

Source: thesis appendix B.2.6, the algorithm "Temporal AND-mask"; paper appendix, algorithm 1. Locals follow it: ``m`` and
``v`` are Adam's moments, ``a`` the moving average of signs, ``b`` the mask. Each step's gradient should come from one
environment; successive steps then differ in environment, and a component moves only while its recent signs agree.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, Literal

import torch
from torch import Tensor
from torch.optim import Optimizer

from mechlearn.agreement.temporal import compiled, steps
from mechlearn.agreement.temporal.compiled import compiled_step
from mechlearn.agreement.temporal.form import PRINTED, AdamForm, check_group, scalars, wide
from mechlearn.agreement.temporal.loading import check_parameters, completed, kind_of
from mechlearn.agreement.temporal.steps import Tensors, foreach_step, loop_step
from mechlearn.arguments import FLOATS, worded

_torch: Any = torch  # see mechlearn.agreement.temporal.steps
Implementation = Literal["foreach", "loop", "compiled"]

_STEPS = {"foreach": foreach_step, "loop": loop_step, "compiled": compiled_step}
_STATE = ("exp_avg", "exp_avg_sq", "sign_avg")


class TemporalAndMaskAdam(Optimizer):
    """Adam that moves a component only where the signs of its recent gradients agree.

    Lines 1 to 5 of the paper's algorithm 1 (thesis algorithm 4). With every operation element by element, one step is

    1. m <- beta1 m + (1 - beta1) g
    2. v <- beta2 v + (1 - beta2) g^2
    3. a <- beta3 a + (1 - beta3) sign(g)
    4. b <- 1[abs(a) >= threshold]
    5. theta <- theta - lr (m b) / sqrt(v + eps)

    and then, as an update of its own that the mask does not touch, theta <- theta - lr weight_decay theta.

    Parameters in half precision have averages and steps in float32, and are rounded once a step.

    Args:
        params: parameters, or groups of them with settings of their own, as every torch optimiser takes them.
        lr: learning rate.
        betas: decay of the gradient's, the squared gradient's and the sign's moving average, each in [0, 1).
        threshold: share of agreement that a component needs, in [0, 1]; 0 masks nothing, and 1 needs a corrected average.
        weight_decay: strength of the decoupled decay, which also moves masked components.
        form: how a step is formed of the averages: as printed, or nearer to Adam. Its fields are settings of a group, too.
        refuse_nonfinite: raise where a gradient is NaN or infinite, before anything moves, at the price of a pass over the
            gradients (and, on a GPU, of waiting for them). Off, NaN reaches the parameters as it does in Adam, masked or not.
        implementation: "foreach" updates many tensors by few calls, "loop" one after the other; the arithmetic is the same.
            "compiled" takes the step in one pass over the memory, equal to rounding error: for float32 and float64 on a CPU
            by a kernel in C, built at the first step anywhere (a second) and kept in the user's cache directory; for the
            rest, and without a C compiler, by ``torch.compile``, which takes a while at the first step.

    Raises:
        TypeError: a setting that is no number.
        ValueError: a setting out of its range, or a threshold of 1 that an average of signs would never reach.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import TemporalAndMaskAdam
        >>> weights = torch.nn.Parameter(torch.zeros(2))
        >>> optimizer = TemporalAndMaskAdam([weights], lr=0.1, betas=(0.5, 0.9, 0.5), threshold=0.5)
        >>> for second in (1.0, -1.0, 1.0, -1.0):  # four environments; they disagree about the second component
        ...     weights.grad = torch.tensor([1.0, second])
        ...     optimizer.step()
        >>> optimizer.survivors(), bool(weights[0] < -0.1)
        ([0.5], True)
    """

    @worded
    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float = 1e-3,
        betas: Sequence[float] = (0.9, 0.999, 0.9),
        threshold: float = 0.4,
        weight_decay: float = 0.0,
        *,
        form: AdamForm = PRINTED,
        refuse_nonfinite: bool = True,
        implementation: Implementation = "foreach",
    ) -> None:
        if not isinstance(form, AdamForm):  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
            raise TypeError(f"`form` should be an AdamForm. Found {form!r}. AdamForm() is as the paper prints it.")
        defaults = {
            "lr": lr,
            "betas": betas,
            "threshold": threshold,
            "weight_decay": weight_decay,
            **asdict(form),
            "refuse_nonfinite": refuse_nonfinite,
            "implementation": implementation,
        }
        super().__init__(check_parameters(params, groups=True), defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, as every torch optimiser does; its settings are checked.

        Raises:
            TypeError: no dictionary with parameters, or a setting that is no number; the group is not added.
            ValueError: a setting out of its range; the group is not added.
        """
        if not isinstance(param_group, dict) or "params" not in param_group:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"`param_group` should be a dictionary with 'params' in it. Found {type(param_group).__name__}. Pass "
                "{'params': parameters, 'lr': 0.1}, for example."
            )
        check_group({**self.defaults, **param_group})
        super().add_param_group(param_group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore, with the defaults of settings that an older state does not have."""
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another optimiser was: one of this class, or torch's Adam or AdamW, whose averages and settings are kept.

        They have no average of signs. It starts from 0, with a warning: by threshold and decay nothing moves for some steps.
        Their third decay and what else a group of theirs lacks is that of this optimiser's group instead. Adam's weight
        decay, which it adds to the gradient, becomes the decoupled one.

        Raises:
            TypeError, ValueError: a state of another kind or of other parameters, or settings out of their range; nothing is
                loaded then.
        """
        whole, lacking = completed(state_dict, self.param_groups, self.defaults)
        super().load_state_dict(whole)
        keys = (key for group in whole["param_groups"] for key in group["params"])
        parameters = (parameter for group in self.param_groups for parameter in group["params"])
        for key, parameter in zip(keys, parameters, strict=True):
            dtype, state = wide(parameter.dtype), self.state.get(parameter)
            if state and dtype != parameter.dtype:  # torch has cast them to the parameter's
                state.update({name: whole["state"][key][name].to(parameter.device, dtype) for name in _STATE})
        if lacking:
            warnings.warn(
                "The state should hold averages of signs. Found none, as torch's Adam saves none: they start from 0, and "
                "with this "
                "threshold and decay a component moves when its signs have agreed for as long as from a fresh start.",
                stacklevel=2,
            )

    @torch.no_grad()
    def step(self, closure: Callable[[], float | Tensor] | None = None) -> float | Tensor | None:  # pyright: ignore[reportIncompatibleMethodOverride] # torch's overloads differ in names only
        """Take one step.

        Args:
            closure: evaluates the model again and returns the loss, with gradients enabled.

        Returns:
            The closure's loss.

        Raises:
            TypeError, ValueError: a setting of a group was changed to what it cannot be; nothing has moved.
            ValueError: a gradient is sparse or complex; nothing has moved.
            FloatingPointError: a gradient is NaN or infinite, and ``refuse_nonfinite``; nothing has moved.
            RuntimeError: ``compiled``, and no compiler; nothing has moved.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._look_at(group)
        parameters = [[p for p in group["params"] if p.grad is not None] for group in self.param_groups]
        for group, some in zip(self.param_groups, parameters, strict=True):
            _check_gradients(some, group)
        for group, some in zip(self.param_groups, parameters, strict=True):
            self._advance(group, some)
        return loss

    @torch.no_grad()
    def survivors(self) -> list[float]:
        """The share of components that the mask let through at the last step, for every parameter that has taken one."""
        shares: list[float] = []
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state.get(parameter)
                if state:
                    least = scalars(group, int(state["step"].item()), parameter.dtype).least
                    survives = state["sign_avg"].abs() >= least
                    shares.append(survives.double().mean().item() if survives.numel() else 1.0)
        return shares

    def _look_at(self, group: dict[str, Any]) -> None:
        """Reject settings that were changed to what they cannot be; those that are as they were cost next to nothing."""
        settings = [group[name] for name in self.defaults]
        looked: dict[int, list[Any]] = self.__dict__.setdefault("_looked", {})
        known = looked.get(id(group))
        if known is None or any(one is not other for one, other in zip(settings, known, strict=True)):
            check_group(group)
            looked[id(group)] = settings

    def _advance(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        """Take one step of a group. Parameters that have taken different numbers of steps have different corrections."""
        corrected = group["bias_correction"] != "none"
        alike: dict[tuple[int, torch.device, torch.dtype], list[tuple[Any, ...]]] = {}
        for parameter in parameters:
            state = self._state_of(parameter)
            count = int(state["step"].item()) + 1 if corrected else 1
            row = (state["step"], parameter, parameter.grad, state["exp_avg"], state["exp_avg_sq"], state["sign_avg"])
            alike.setdefault((count, parameter.device, parameter.dtype), []).append(row)
        step = _STEPS[group["implementation"]]
        for (count, _, dtype), rows in alike.items():
            counts, *tensors = (list(column) for column in zip(*rows, strict=True))
            step(Tensors(*tensors), scalars(group, count, dtype))
            # A tensor, since a number would be made into one for every count.
            _torch._foreach_add_(counts, torch.ones(()), alpha=1)

    def _state_of(self, parameter: Tensor) -> dict[str, Any]:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32)  # on the CPU: read at every step without waiting for a GPU
            for name in _STATE:
                state[name] = torch.zeros_like(parameter, dtype=wide(parameter.dtype), memory_format=torch.preserve_format)
        return state


def _check_gradients(parameters: list[Tensor], group: dict[str, Any]) -> None:
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    for gradient in gradients:
        if gradient.layout != torch.strided or gradient.dtype not in FLOATS:
            raise ValueError(
                f"Gradients should be dense and real: the mask needs every component's sign. Found a {kind_of(gradient)} "
                f"gradient of shape {tuple(gradient.shape)}. Give that parameter another optimiser."
            )
    if not group["refuse_nonfinite"] or not gradients:
        return
    look = compiled.first_nonfinite if group["implementation"] == "compiled" else steps.first_nonfinite
    position = look(gradients)
    if position is not None:
        raise FloatingPointError(
            "Every gradient should be finite. Found NaN or infinity in a gradient of shape "
            f"{tuple(gradients[position].shape)}. Lower the learning rate, or pass refuse_nonfinite=False where a GradScaler "
            "finds overflows; nothing has moved."
        )
