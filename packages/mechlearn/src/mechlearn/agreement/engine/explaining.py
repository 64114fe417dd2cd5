"""What a call would do with each parameter, and why: for reading, before a long run."""

from typing import NamedTuple

from torch import Tensor

from mechlearn.agreement.engine.collected import Path
from mechlearn.agreement.engine.forward import OnePass
from mechlearn.agreement.engine.variance.clusters import Clusters, unit_of
from mechlearn.environments import EnvironmentIds


class Explanation(NamedTuple):
    """How one parameter's environment gradients are formed.

    Attributes:
        parameter: its name.
        path: as in `mechlearn.agreement.Record`.
        reason: why it takes that path.
        cost: in words.
    """

    parameter: str
    path: Path
    reason: str
    cost: str


class Explanations(list[Explanation]):
    """One for each parameter; as a string a table."""

    def __str__(self) -> str:
        """Return them as lines of text, one a parameter."""
        rows = [Explanation._fields, *self]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)


def explained(onepass: OnePass, losses: Tensor, environments: EnvironmentIds, needs: frozenset[str]) -> Explanations:
    """Return the explanation of every parameter that the losses reach."""
    plan, groups = onepass.look(losses, environments, needs)
    found, plain = Explanations(), onepass.takes_plain(needs, groups.count)
    for name in (*plan.reads, *plan.reasons):
        if plain:
            why = "there is one environment" if groups.count == 1 else "sums alone are read"
            found.append(Explanation(name, "plain", why, "one plain backward pass"))
        elif name in plan.reads:
            through = [read for made in plan.made.values() if name in made.names for read in made.reads]
            kinds = sorted({read.node.name().removesuffix("Backward0") for read in (*plan.reads[name], *through)})
            of_several = " through a function of several parameters" if through else ""
            found.append(Explanation(name, "layer", f"read by {', '.join(kinds)}{of_several}", "inside one backward pass"))
        else:
            of_what = f", one for each {unit_of(groups)}" if isinstance(groups, Clusters) else ""
            where = "" if plan.cut is None else f" from {plan.cut.node.name().removesuffix('Backward0')} down"
            cost = f"{groups.count} backward passes{where}{of_what}, shared by all such parameters"
            cost += "" if of_what else "; with `accumulate`, one environment at a time, a pass over its own rows each"
            found.append(Explanation(name, "per-environment", plan.reasons[name], cost))
    return found
