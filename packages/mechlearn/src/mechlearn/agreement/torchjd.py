"""To and from TorchJD: our rules as its aggregators, and its aggregators on our environments, for small models.

A rule sees sums over environments; an aggregator sees the Jacobian, one row of all P components for each of E environments.
So a rule is an aggregator at once, while an aggregator needs the stacked E x P matrix and cannot be a
`mechlearn.agreement.Rule`: `aggregate` is the step for it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mechlearn.agreement.engine.delivery import deliver, silent
from mechlearn.agreement.engine.streaming import dense, environment_gradients
from mechlearn.agreement.rules import Rule, check_rule
from mechlearn.agreement.stacked import combine
from mechlearn.arguments import check_whole
from mechlearn.environments import EnvironmentIds, check_differentiable, check_trainable, check_unreduced, partition

if TYPE_CHECKING:
    Aggregator = Callable[[Tensor], Tensor]

LIMIT = 2**27
"""Elements that `aggregate` stacks unless told otherwise: half a gibibyte of float32."""


def as_aggregator(rule: Rule) -> Any:  # noqa: ANN401  # TorchJD's class, which need not be installed
    """Return a TorchJD ``Aggregator``, a module from (m, n) matrices to (n,) vectors, that applies a rule to the columns.

    Rows are environments. A rule's ``rescale`` counts survivors over the whole vector here, over each parameter in `Agreement`.

    Raises:
        TypeError: no rule.
        ModuleNotFoundError: TorchJD is not installed.
    """
    check_rule(rule)
    try:
        from torchjd.aggregation import Aggregator  # noqa: PLC0415  # an extra's  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ModuleNotFoundError("torchjd should be installed. Found no such package. Run: pip install torchjd.") from None

    class RuleAggregator(Aggregator):  # pyright: ignore[reportUntypedBaseClass]
        """A rule of mechlearn's."""

        def __init__(self) -> None:
            super().__init__()
            self.rule = rule

        def forward(self, matrix: Tensor, /) -> Tensor:
            """Combine the rows."""
            return combine(rule, matrix).gradient

        def __repr__(self) -> str:
            return f"RuleAggregator({rule!r})"

    return RuleAggregator()


def aggregate(
    model: nn.Module,
    losses: Float[Tensor, "..."],
    environments: EnvironmentIds,
    aggregator: "Aggregator",
    *,
    limit: int = LIMIT,
) -> None:
    """Add to ``.grad`` what an aggregator makes of the environments' gradients: a peer's place in `Agreement`'s loop.

    Takes one backward pass for each environment and holds all E gradients, which only small models bear.

    Args:
        model: its trainable parameters make up the matrix's columns, in the order of ``named_parameters``.
        losses: (B,) unreduced, with their graph.
        environments: B ids, the environment of each example.
        aggregator: from (E, P) to (P,), as TorchJD's are; any callable.
        limit: refuse to stack more elements than this.

    Raises:
        TypeError: no model, no tensor of losses, no ids, no function.
        ValueError: losses or ids that do not fit, a matrix above the limit, an aggregate of another shape. No gradient is
            touched then.
    """
    check_trainable(model)
    check_unreduced(losses)
    check_differentiable(losses)
    check_whole("limit", limit, least=1)
    if not callable(aggregator):
        raise TypeError(
            "`aggregator` should be a function of a matrix, one environment's gradient a row. Found "
            f"{type(aggregator).__name__}. "
            "Pass one of TorchJD's, or any other."
        )
    groups = partition(environments, len(losses), losses.device)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    components = sum(parameter.numel() for parameter in parameters)
    if groups.count * components > limit:
        raise ValueError(
            f"An aggregator should stack every environment's gradient, at most `limit` = {limit} elements. Found "
            f"{groups.count} environments x {components} components. Use a rule with Agreement, which streams, or raise "
            "the limit."
        )
    with silent(parameters):
        rows = [
            torch.cat(
                [
                    torch.zeros_like(p).flatten() if g is None else dense(g).flatten()
                    for g, p in zip(found, parameters, strict=True)
                ]
            )
            for found in environment_gradients(losses, groups, parameters)
        ]
    combined = _checked(aggregator(torch.stack(rows)), components)
    for parameter, piece in zip(parameters, combined.detach().split([p.numel() for p in parameters]), strict=True):
        deliver(parameter, piece.view(parameter.shape).clone())


def _checked(combined: object, components: int) -> Tensor:
    """Return what an aggregator has returned, or refuse it."""
    if isinstance(combined, Tensor) and combined.shape == (components,):
        return combined
    found = f"shape {tuple(combined.shape)}" if isinstance(combined, Tensor) else type(combined).__name__
    raise ValueError(
        f"`aggregator` should return one number for each of {components} components. Found {found}. Return a tensor of shape "
        f"({components},)."
    )
