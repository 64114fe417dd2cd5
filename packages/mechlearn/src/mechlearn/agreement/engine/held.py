"""Environments that come back in later calls: each one's gradient is held until the step, E times the parameters' memory."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mechlearn.agreement.engine.collected import Collected, Path, Proof, joined, names_of, weaker
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.engine.sums.units import of_model
from mechlearn.agreement.normalised import lengths
from mechlearn.agreement.rules import EACH, STANDARD_ERRORS, Anchored, Rule, Statistics
from mechlearn.environments import Ids


class Stack(RunningSums):
    """One parameter's environment gradients side by side, in the order in which they come.

    Args:
        like: the parameter.
        count: how many environments will be added.
    """

    in_whole = True

    def __init__(self, like: Tensor, count: int) -> None:
        super().__init__(like, EACH)
        self._rows = torch.zeros(count, *self.shape, dtype=self.dtype, device=self.device)

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Take a copy of the gradients of c further environments."""
        self._rows[self.environments : self.environments + len(gradients)] = gradients
        self.environments += len(gradients)

    def add_silent(self, environments: int) -> None:
        """Take environments whose losses do not reach the parameter."""
        self.environments += environments

    def rows(self) -> Float[Tensor, "e *p"]:
        """Return all of them."""
        return self._rows

    def begin_with(self, place: int) -> None:
        """Put an environment first."""
        if place:
            self._rows = self._rows[sorted(range(self.environments), key=lambda k: k != place)]

    def statistics(self) -> Statistics:
        """Return them with their sum."""
        return Statistics(self.environments, self._rows.sum(0), each=self._rows)


def put_first(rule: Anchored, ids: Ids, stacks: Mapping[str, RunningSums]) -> None:
    """Put the anchor's gradient of each parameter first.

    Raises:
        ValueError: if no environment is the anchor.
    """
    names = list(names_of(ids))
    rule.check(rule.anchor in names, names)
    for stack in stacks.values():
        if isinstance(stack, Stack):
            stack.begin_with(names.index(rule.anchor))


class One:
    """What is known of one environment: means over its examples, times their number.

    Attributes:
        size: how many examples.
        loss: of all of them; None before the first.
        gradients: of the parameters that its losses reach, by name.
        outside: of leaves outside the model.
    """

    def __init__(self) -> None:
        self.size = 0
        self.loss: Tensor | None = None
        self.gradients: dict[str, Tensor] = {}
        self.outside: dict[Tensor, Tensor] = {}


class Held:
    """Environments of several calls with the gradient of each, which more examples may join until the step.

    Attributes:
        ids: of the environments, as they came.
        parameters: the model's that are reached, by name.
        paths: how each parameter's gradients were formed.
        proved: why environments are known to stay apart.
    """

    def __init__(self) -> None:
        self.ids: Ids = ()
        self.parameters: dict[str, nn.Parameter] = {}
        self.paths: dict[str, Path] = {}
        self.proved: Proof = "checked"
        self._ones: dict[object, One] = {}

    def check(self, rule: Rule) -> None:
        """Reject a rule that reads more than whole gradients.

        Raises:
            ValueError: says so.
        """
        if rule.needs & STANDARD_ERRORS:
            raise ValueError(
                f"`hold` should go with a rule of gradients alone. Found {rule!r}, which asks how the examples of an "
                "environment vary. Pass all losses to one `backward`, torch.cat([losses, more]), with their ids; on ranks "
                "give each environment to one."
            )

    def join(self, found: Collected, stacks: Mapping[str, RunningSums]) -> None:
        """Add a call's examples to their environments.

        Args:
            found: what is known of the call; outside of the model, (E, *p) the gradient of each environment.
            stacks: each environment's gradients, by parameter name.
        """
        names = list(names_of(found.ids))
        new = [k for k, name in enumerate(names) if name not in self._ones]
        ids = found.ids[new] if isinstance(found.ids, Tensor) else tuple(names[k] for k in new)
        self.ids = joined(self.ids, ids) if self._ones else ids
        rows = {name: stack.rows() for name, stack in stacks.items() if isinstance(stack, Stack)}
        for k, (name, size) in enumerate(zip(names, found.sizes, strict=True)):
            one = self._ones.setdefault(name, One())
            one.size += size
            one.loss = _plus(one.loss, found.losses[k], size)
            for parameter, each in rows.items():
                one.gradients[parameter] = _plus(one.gradients.get(parameter), each[k], size)
            for leaf, each in found.outside.items():
                one.outside[leaf] = _plus(one.outside.get(leaf), each[k], size)
        self.parameters |= found.parameters
        self.paths |= found.paths
        self.proved = weaker(self.proved, found.proved)

    @property
    def outside(self) -> bool:
        """Whether an environment reaches leaves outside the model."""
        return any(one.outside for one in self._ones.values())

    def names(self) -> list[object]:
        """Return the environments' ids, integers as such."""
        return list(self._ones)

    def part(self, name: object) -> One:
        """Return what is held of an environment."""
        return self._ones[name]

    def reach(self, parameters: Mapping[str, nn.Parameter]) -> None:
        """Take parameters that an environment's losses reach on another rank."""
        for name, parameter in parameters.items():
            self.parameters[name] = parameter
            self.paths.setdefault(name, "per-environment")

    def drop(self, name: object) -> None:
        """Leave an environment to another rank."""
        left = [k for k, other in enumerate(self._ones) if other != name]
        self.ids = self.ids[left] if isinstance(self.ids, Tensor) else tuple(self.ids[k] for k in left)
        del self._ones[name]

    def settled(self, blank: Callable[[Tensor], RunningSums], by_model: bool) -> Collected:
        """Return the sums over all environments, each of which is whole now; what is held is used up.

        Args:
            blank: makes empty sums for a parameter.
            by_model: divide each environment's gradient by its norm over all parameters.
        """
        ones = list(self._ones.values())
        norms = self._norms(ones) if by_model else None
        losses = [one.loss / one.size for one in ones if one.loss is not None]
        found = Collected(self.ids, _stack(losses), self.parameters, tuple(one.size for one in ones))
        for name in self.paths if ones else ():
            sums = blank(self.parameters[name])
            for e, one in enumerate(ones):
                gradient = one.gradients.pop(name, None)
                if gradient is None:
                    sums.add_silent(1)
                else:
                    sums.add(gradient.div_(one.size if norms is None else one.size * norms[e].to(gradient.dtype))[None])
            found.sums[name] = sums
        for one in ones:
            for leaf, gradient in one.outside.items():
                found.outside[leaf] = found.outside.get(leaf, 0) + gradient / one.size
        found.paths, found.proved = self.paths, self.proved
        return found

    def _norms(self, ones: list[One]) -> Tensor:
        """Return what each environment's gradient is divided by: its norm over all parameters."""
        found: list[Tensor] = []
        for one in ones:
            own = torch.cat([lengths((gradient / one.size)[None]) for gradient in one.gradients.values()])
            found.append(of_model(own[None]))
        return torch.cat(found)


def _stack(losses: list[Tensor]) -> Tensor:
    return torch.stack(losses) if losses else torch.zeros(0)


def _plus(total: Tensor | None, mean: Tensor, size: int) -> Tensor:
    more = mean * size  # rounded by itself: what cancels exactly comes out as 0
    return more if total is None else total.add_(more)
