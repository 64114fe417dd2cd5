"""What is known of the environments of one call, or of several that were accumulated, and what is reported of them."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.rules import Rule, Statistics, check_needs
from mechlearn.environments import Ids, named

Path = Literal["plain", "layer", "per-environment", "compiled"]


Proof = Literal["proved", "declared", "checked"]


def weaker(one: Proof, other: Proof) -> Proof:
    """Return what is known of environments of two calls together."""
    return one if _SURE.index(one) < _SURE.index(other) else other


_SURE: tuple[Proof, ...] = ("declared", "proved", "checked")


class Record(NamedTuple):
    """What `Agreement.backward` reports.

    Attributes:
        environments: the E environment ids, ascending within a call where they have an order; accumulated calls come first. A
            tensor where they are integers that eight bytes hold, else a tuple of the ids as they were given.
        losses: (E,) each environment's mean loss, detached, in float32 or wider.
        share: the share of all these parameters' components that the rule let through, one number.
        share_by_parameter: for each parameter that received a gradient, the share of its components that the rule let through.
        paths: for each of these parameters, how its environment gradients were formed: "layer" (inside one backward
            pass) or "per-environment" (one backward pass for each environment; exact for every module); "plain" where the
            rule asks for their sum alone, or where there is one environment; "compiled" where a step of `Agreement.compile`
            formed them.
        proved: why environments are known to stay apart: "proved" by the graph, "declared" where ``rows="independent"`` stands
            for a part of the proof, "checked" where ``verify`` compared one of them with the definition in this call.
        statistics: for the parameters that were to be kept, what their environments' gradients add up to; None where none was.
        masks: for each of these parameters, which components the rule let through; None unless the agreement keeps them.
    """

    environments: Ids
    losses: Float[Tensor, " e"]
    share: float
    share_by_parameter: dict[str, float]
    paths: dict[str, Path]
    proved: Proof = "proved"
    statistics: dict[str, Statistics] | None = None
    masks: dict[str, Bool[Tensor, "*p"]] | None = None

    @property
    def slow(self) -> list[str]:
        """The parameters that cost a backward pass for each environment; `Agreement.explain` says why."""
        return [name for name, path in self.paths.items() if path == "per-environment"]


def overall(shares: Mapping[str, float], parameters: Mapping[str, Tensor]) -> float:
    """Return the share of all components of which those by parameter are shares; 1 where there is none."""
    sizes = {name: parameters[name].numel() for name in shares}
    whole = sum(sizes.values())
    return sum(share * sizes[name] for name, share in shares.items()) / whole if whole else 1.0


class OfEnvironments(dict[str, Statistics]):
    """What environments' gradients add up to, by parameter name, and which environments they are.

    `mechlearn.agreement.Agreement.collect` returns it; as a mapping it holds the statistics alone.

    Attributes:
        ids: of the environments, in the order in which they were collected.
        keep_masks: what is combined of them should say which components the rule let through.
    """

    ids: Ids = ()
    keep_masks: bool = False


class Survivors(dict[str, float]):
    """The share of components that survived, by parameter name, where ranks' environments were combined.

    Attributes:
        masks: for each of these parameters, which components the rule let through, the same on every rank; None unless the
            agreement keeps them.
    """

    masks: dict[str, Bool[Tensor, "*p"]] | None = None


class Collected:
    """Environments, and what their losses left.

    An environment's sign is that of its whole gradient, so what comes of it must be added up before. Where the latest call held
    one environment alone, its gradient is still kept and a further call with its id joins it, weighted by numbers of examples;
    in any other case an id that comes back is refused.

    Args:
        ids: the E environment ids of one call.
        losses: (E,) each environment's mean loss.
        parameters: the model's parameters that the losses reach, by name.
        sizes: E numbers of examples; without them no environment stays open.

    Attributes:
        ids, losses, parameters, sizes: those of all calls, in their order.
        paths: how the environment gradients of each parameter were formed.
        proved: why environments are known to stay apart.
    """

    def __init__(
        self, ids: Ids, losses: Tensor, parameters: dict[str, nn.Parameter] | None = None, sizes: tuple[int, ...] = ()
    ) -> None:
        self.ids, self.losses, self.sizes = ids, losses, sizes
        self.parameters: dict[str, nn.Parameter] = {} if parameters is None else parameters
        self.proved: Proof = "proved"
        self.paths: dict[str, Path] = {}
        self._outside: dict[Tensor, Tensor] = {}
        self._sums: dict[str, RunningSums] = {}
        self._latest: Collected | None = None

    @property
    def sums(self) -> dict[str, RunningSums]:
        """The sums of each parameter over all environments; empty where they were combined as soon as they were complete."""
        self._settle()
        return self._sums

    @sums.setter
    def sums(self, sums: dict[str, RunningSums]) -> None:
        self._sums = sums

    @property
    def outside(self) -> dict[Tensor, Tensor]:
        """The summed gradients of leaves outside the model."""
        self._settle()
        return self._outside

    @outside.setter
    def outside(self, outside: dict[Tensor, Tensor]) -> None:
        self._outside = outside

    def statistics(self) -> OfEnvironments:
        """Return what the environments' gradients add up to, by parameter name."""
        found = OfEnvironments({name: sums.statistics() for name, sums in self.sums.items()})
        found.ids = self.ids
        return found

    def check(self, rule: Rule, ids: Ids | None = None) -> None:
        """Reject what cannot be joined to these environments, before anything is formed.

        Args:
            rule: that is to combine them.
            ids: of the environments to come, or None where none do.

        Raises:
            ValueError: sums that lack what the rule reads, or an id that was complete.
        """
        for sums in self._sums.values():
            check_needs(rule, sums.needs)
        if ids is not None:
            self._check_new(ids)

    def _check_new(self, ids: Ids) -> bool:
        """Tell whether ids are that of the one environment whose gradient is still kept."""
        before = set(names_of(self.ids))
        again = [name for name in names_of(ids) if name in before]
        if again and not (len(ids) == 1 and again[0] == named(self.ids, -1) and self._open() is not None):
            raise ValueError(
                "An environment's sign is that of its whole gradient: its examples should come in one call, or in calls in a "
                f"row that hold it alone. Found environment {again[0]!r} in an earlier call as well"
                + (f", and {len(again) - 1} more" if len(again) > 1 else "")
                + ". Pass hold=True to every call of a step, which holds a gradient for each environment, or give the parts "
                "ids of their own if each is to count as an environment."
            )
        return bool(again)

    def _open(self) -> "Collected | None":
        """The latest call's environment, if it was one alone."""
        return self._latest or (self if len(self.ids) == 1 and self.sizes else None)

    def join(self, other: "Collected") -> None:
        """Add the environments of a further call, or more of the latest one.

        Raises:
            ValueError: an id that was complete; nothing has changed then.
        """
        if self._check_new(other.ids):
            self._continue(other)
        else:
            self._settle()
            if len(other.ids) == 1 and other.sizes:
                self._latest = other
            else:
                self._add(other)
            self.ids, self.sizes = joined(self.ids, other.ids), self.sizes + other.sizes
            self.losses = torch.cat([self.losses, other.losses])
        self.parameters |= other.parameters
        self.paths |= other.paths
        self.proved = weaker(self.proved, other.proved)

    def _continue(self, other: "Collected") -> None:
        """Join more examples of the environment that is open: mean gradients and losses, weighted by numbers of examples."""
        latest = self._open()
        assert latest is not None  # _check_new has asked
        sizes = latest.sizes[-1], other.sizes[-1]
        total = sum(sizes)
        loss = _mean((latest.losses[-1:], other.losses), sizes)
        names = latest._sums | other._sums
        latest._sums = {name: _whole((latest._sums.get(name), other._sums.get(name)), sizes) for name in names}
        leaves = latest._outside | other._outside
        latest._outside = {leaf: _mean((latest._outside.get(leaf), other._outside.get(leaf)), sizes) for leaf in leaves}
        latest.losses, latest.sizes = loss, (total,)
        self.losses, self.sizes = torch.cat([self.losses[:-1], loss]), (*self.sizes[:-1], total)

    def _settle(self) -> None:
        """Add the environment that was open to the others: its sign is taken."""
        latest, self._latest = self._latest, None
        if latest is not None:
            self._add(latest, before=len(self.ids) - 1)

    def _add(self, other: "Collected", before: int | None = None) -> None:
        for name in self._sums.keys() - other._sums.keys():
            self._sums[name].add_silent(len(other.ids))
        for name, sums in other._sums.items():
            if name in self._sums:
                self._sums[name].join(sums)
            else:
                sums.add_silent(len(self.ids) if before is None else before)
                self._sums[name] = sums
        for leaf, gradient in other._outside.items():
            self._outside[leaf] = self._outside[leaf] + gradient if leaf in self._outside else gradient


def _whole(parts: tuple[RunningSums | None, RunningSums | None], sizes: tuple[int, int]) -> RunningSums:
    """Return the sums of one environment that came in two parts; a part that does not reach the parameter has gradient 0."""
    found = [part for part in parts if part is not None]
    one, other = (None if part is None else part.gradient for part in parts)
    gradient = _mean((one, other), sizes)
    sums = RunningSums(gradient, frozenset.intersection(*(part.needs for part in found)), found[0].compiled)
    sums.add(gradient[None])
    return sums


def _mean(parts: tuple[Tensor | None, Tensor | None], sizes: tuple[int, int]) -> Tensor:
    """Return the mean of two parts' means, weighted by numbers of examples: what cancels exactly comes out as 0."""
    products = [part * size for part, size in zip(parts, sizes, strict=True) if part is not None]
    return sum(products[1:], start=products[0]) / sum(sizes)


def names_of(ids: Ids) -> Iterator[object]:
    """Yield ids as they are, integers as such."""
    yield from ids.tolist() if isinstance(ids, Tensor) else ids


def joined(one: Ids, other: Ids) -> Ids:
    """Return ids one after the other."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.cat([one, other])
    return (*names_of(one), *names_of(other))
