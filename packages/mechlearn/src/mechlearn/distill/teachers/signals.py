"""A teacher's output as a flat list of tensors, which an unroll can be differentiated by, and back.

Signals are tensors (B, ...), or (n, B, ...) for all batches of an unroll: for every supervised layer its targets and, if there
are any, its gates, in a fixed order (`Layout`).
"""

from collections.abc import Mapping, Sequence

from torch import Tensor

from mechlearn.distill.teachers.targets import Target

Signals = tuple[Tensor, ...]
"""Targets and gates in the order of a `Layout`."""

Layout = tuple[tuple[str, bool], ...]
"""For every supervised layer, in order: its name, and whether it has gates."""


def pack(output: object, layers: Sequence[str]) -> tuple[Signals, Layout]:
    """Return a teacher's output as signals in the order of `layers`."""
    if isinstance(output, Tensor | Target):
        if len(layers) != 1:
            raise ValueError(
                f"A teacher of several layers should return a dictionary of targets by layer name. Found a single "
                f"{type(output).__name__} for {len(layers)} layers. Return {{name: target}}, or see UnitsTeacher."
            )
        output = {layers[0]: output}
    if not isinstance(output, Mapping) or set(output) != set(layers):
        found = sorted(output) if isinstance(output, Mapping) else type(output).__name__
        raise ValueError(
            f"The teacher should return targets for the supervised layers {sorted(layers)}. Found {found}. Let both name the "
            "same layers."
        )
    signals: list[Tensor] = []
    layout: list[tuple[str, bool]] = []
    for name in layers:
        value: Tensor | Target = output[name]
        target = value if isinstance(value, Target) else Target(value)
        _check_signal("targets", name, target.value)
        if target.gate is not None:
            _check_signal("gates", name, target.gate)
        signals += [target.value] if target.gate is None else [target.value, target.gate]
        layout.append((name, target.gate is not None))
    return tuple(signals), tuple(layout)


def _check_signal(what: str, name: str, signal: object) -> None:
    """Reject what no gradient leads through."""
    if not isinstance(signal, Tensor):
        raise TypeError(
            f"The teacher's {what} should be tensors. Found an object of type {type(signal).__name__} for {name!r}. Return a "
            "tensor, or mechlearn.distill.Target(value, gate)."
        )
    if not (signal.is_floating_point() or signal.is_complex()):
        raise TypeError(
            f"The teacher's {what} should be floating numbers, which a gradient leads through. Found {signal.dtype} for "
            f"{name!r}. Look for rounding, argmax or comparisons at its end."
        )


def unpack(signals: Sequence[Tensor], layout: Layout) -> dict[str, Target]:
    """Return signals as targets by layer name."""
    rest = iter(signals)
    return {name: Target(next(rest), next(rest) if gated else None) for name, gated in layout}
