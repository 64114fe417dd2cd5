"""Which environment each slice of a gradient depends on, and where a parameter is read: what a walk of the graph finds.

Index conventions: b an example of B, e an environment of E.
"""

from typing import NamedTuple

from torch import Tensor
from torch.autograd.graph import Node

WHOLE = -1
"""As a dimension: the whole gradient depends on one environment's loss, as of a scalar made of that environment's rows."""


class Rows(NamedTuple):
    """Which example, or which environment, each slice of a gradient belongs to.

    Two forms. By example, without a tensor: along ``dim``, of size outer * B * inner, index (o * B + b) * inner + i belongs to
    example b. By environment: ``owners`` holds the environment's position (that of `mechlearn.environments.Environments.index`)
    of each slice along ``dim``; outer and inner are 1 then.

    Attributes:
        dim: the dimension that tells examples apart, at least 0; `WHOLE` (with one owner) where all is one environment's.
        outer: how often the batch is repeated along ``dim``.
        inner: how many neighbours along ``dim`` belong to one example, as positions that a view folded in.
        owners: (size,) environments, on the CPU, -1 where no loss reaches the slice (its gradient is 0). Else None.
    """

    dim: int
    outer: int = 1
    inner: int = 1
    owners: Tensor | None = None


class Read(NamedTuple):
    """One place where the graph of a step's losses reads a parameter.

    Attributes:
        name: the parameter's name in the model.
        node: the node that reads it; its incoming gradient is the delta that a formula is given.
        slot: the index in ``node.next_functions`` through which it is read.
        rows: whose the slices of the node's incoming gradient are.
        chain: what lies between ``node`` and the parameter's leaf, nearest to ``node`` first: operations of one input without
            an example in them (T, transpose, view, select, slice, expand, a cast, exp, a lookup, ...), each of which reads
            through the one entry of its ``next_functions`` that is not None. Empty where the leaf itself is read.
    """

    name: str
    node: Node
    slot: int
    rows: Rows
    chain: tuple[Node, ...] = ()


class Made(NamedTuple):
    """What is made of several parameters and nothing else, as weight norm's weight, W + B A, a penalty in the losses.

    Attributes:
        edge: the node that makes it, and which of its outputs it is.
        names: of the parameters that it is made of.
        reads: of it, as if it were a parameter of its own.
    """

    edge: tuple[Node, int]
    names: frozenset[str]
    reads: list[Read]
