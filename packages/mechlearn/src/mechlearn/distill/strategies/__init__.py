"""Strategies: how the unroll is differentiated, one file a way, and the inner problem that they share.

`Unroll`, `Checkpoint` and `Adjoint` are exact, at other prices; `Truncated` and `Implicit` approximate.
"""

from mechlearn.distill.strategies.adjoint import Adjoint
from mechlearn.distill.strategies.checkpoint import Checkpoint
from mechlearn.distill.strategies.implicit import Implicit
from mechlearn.distill.strategies.truncated import Truncated
from mechlearn.distill.strategies.unroll import Unroll

__all__ = ["Adjoint", "Checkpoint", "Implicit", "Strategy", "Truncated", "Unroll", "check_strategy"]

Strategy = Unroll | Checkpoint | Truncated | Adjoint | Implicit
"""How to differentiate: a frozen dataclass with the methods `solve`, which finds the gradient, and `held`, its memory."""


def check_strategy(strategy: object) -> None:
    """Reject what is none, such as a strategy's class or name."""
    if not isinstance(strategy, Strategy):
        raise TypeError(
            "`strategy` should be one of Unroll(), Checkpoint(), Truncated(), Adjoint() and Implicit(), with their settings. "
            f"Found {strategy!r}. Import them from mechlearn.distill."
        )
