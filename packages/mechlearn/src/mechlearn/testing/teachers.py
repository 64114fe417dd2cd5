"""What every teacher of `mechlearn.distill` owes, checked: a sentence names the rule that is broken."""

import copy
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from mechlearn.distill.forward.noise import alike, check_repeats, no_draws
from mechlearn.distill.lesson import check_module
from mechlearn.distill.teachers.signals import Signals, pack, unpack
from mechlearn.distill.teachers.targets import check_targets

Make = Callable[[], nn.Module]


def check_teacher(make: Make, privileged: Tensor, hidden: Mapping[str, Tensor]) -> None:
    """Check a teacher of your own, in a test of yours.

    Give it to a test runner; it takes a few passes over one small batch::

        def test_my_teacher():
            check_teacher(MyTeacher, privileged=torch.randn(5, 4), hidden={"read": torch.randn(5, 8)})

    Checked are, in this order: it has something to train and draws no random numbers; it leaves its inputs as they are; it
    gives finite targets (and gates) of the supervised activations' shapes; a gradient reaches each of its parameters; in eval
    mode an example has the same targets alone and in a batch; its state dictionary holds all that its targets depend on.

    Args:
        make: from nothing to a new teacher: a class, or ``lambda: MyTeacher(width=64)``. It is called three times, with torch's
            global generator at different seeds, which is put back.
        privileged: (B, ...) a batch of what the teacher reads, B >= 2; rows should differ.
        hidden: by layer name what the student's supervised layers give for the same batch, (B, ...) each; their shapes
            are read.

    Raises:
        TypeError: a teacher instead of what makes one.
        AssertionError: a rule is broken; the message says which, what was found and where to look.
        ValueError: fewer than two examples.
    """
    if isinstance(make, nn.Module):
        raise TypeError(
            f"`make` should give a new teacher each time it is called. Found a teacher, {type(make).__name__}. Give its class, "
            f"or a function: lambda: {type(make).__name__}(...)."
        )
    if len(privileged) < 2:
        raise ValueError(f"`privileged` should hold at least two examples. Found {len(privileged)}. Give a batch.")
    _check_a_function(_made(make, 0), privileged, tuple(hidden))
    _check_shapes(_made(make, 0), privileged, hidden)
    _check_every_parameter_learns(_made(make, 0), privileged, tuple(hidden))
    _check_examples_apart(_made(make, 0).eval(), privileged, tuple(hidden))
    _check_state(_made(make, 0), _made(make, 1), privileged, tuple(hidden))


def _made(make: Make, seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def _signals(teacher: nn.Module, privileged: Tensor, layers: Sequence[str]) -> Signals:
    try:
        return pack(teacher(privileged), layers)[0]
    except ValueError as error:
        raise AssertionError(str(error)) from None


def _check_a_function(teacher: nn.Module, privileged: Tensor, layers: Sequence[str]) -> None:
    given = privileged.clone()
    try:
        check_module("teacher", teacher)
        with torch.no_grad(), no_draws("teacher", teacher):
            found = _signals(teacher, privileged, layers)
            check_repeats("teacher", found, lambda: _signals(teacher, privileged, layers))
    except ValueError as error:
        raise AssertionError(str(error)) from None
    if not torch.equal(given, privileged):
        raise AssertionError(
            "A teacher should leave its inputs as they are: they are used again. Found privileged data changed in place. Look "
            "for functions whose names end in an underscore."
        )


def _check_shapes(teacher: nn.Module, privileged: Tensor, hidden: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        found = _signals(teacher, privileged, tuple(hidden))
        layout = pack(teacher(privileged), tuple(hidden))[1]
    try:
        check_targets(hidden, unpack(found, layout))
    except ValueError as error:
        raise AssertionError(str(error)) from None
    for signal in found:
        if not signal.is_floating_point() or not bool(signal.isfinite().all()):
            raise AssertionError(
                f"A teacher's targets and gates should be finite floating-point numbers. Found {signal.dtype} with "
                f"{int((~signal.isfinite()).sum())} that are not finite. Look for logarithms, roots and divisions."
            )


def _check_every_parameter_learns(teacher: nn.Module, privileged: Tensor, layers: Sequence[str]) -> None:
    generator = torch.Generator().manual_seed(0)
    found = _signals(teacher, privileged, layers)
    weights = [torch.randn(signal.shape, generator=generator).to(signal) for signal in found]
    total = torch.stack([(signal * weight).sum() for signal, weight in zip(found, weights, strict=True)]).sum()
    params = {name: parameter for name, parameter in teacher.named_parameters() if parameter.requires_grad}
    reached = total.requires_grad
    slopes = torch.autograd.grad(total, list(params.values()), allow_unused=True, materialize_grads=True) if reached else ()
    idle = list(params) if not reached else [name for name, slope in zip(params, slopes, strict=True) if not slope.any()]
    if idle:
        raise AssertionError(
            f"A gradient should reach every parameter of a teacher. Found none, or zeros alone, for {', '.join(idle)}. Use it "
            "in the forward pass, freeze it, or look for detach(), no_grad() and rounding on its way."
        )


def _check_examples_apart(teacher: nn.Module, privileged: Tensor, layers: Sequence[str]) -> None:
    with torch.no_grad():
        together = _signals(teacher, privileged, layers)
        for b in range(len(privileged)):
            alone = _signals(teacher, privileged[b : b + 1], layers)
            if not all(alike(one, all_[b : b + 1]) for one, all_ in zip(alone, together, strict=True)):
                raise AssertionError(
                    f"In eval mode an example should have the same targets alone and in a batch. Found others for example {b} "
                    f"of {len(privileged)}. Look for means over the batch, and for views that mix examples."
                )


def _check_state(teacher: nn.Module, other: nn.Module, privileged: Tensor, layers: Sequence[str]) -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in teacher.parameters():
            if parameter.is_floating_point() or parameter.is_complex():  # one of whole numbers is frozen
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator).to(parameter))
        _signals(teacher, privileged, layers)  # running averages move
        other.load_state_dict(copy.deepcopy(teacher.state_dict()))
        found, wanted = (_signals(one.eval(), privileged, layers) for one in (other, teacher))
    if not all(alike(a, b) for a, b in zip(found, wanted, strict=True)):
        raise AssertionError(
            "A teacher's state dictionary should hold all that its targets depend on, so that a run can go on from it. Found "
            "other targets from a second teacher with the state of the first. Register what is drawn or counted as a parameter "
            "or a buffer."
        )
