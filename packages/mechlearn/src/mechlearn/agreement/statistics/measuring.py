"""From losses to the statistics of their environments' gradients, in one backward pass where that is proved right."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mechlearn.agreement.engine import layers as formulas
from mechlearn.agreement.engine.analysis.refusals import check_batch_norm
from mechlearn.agreement.engine.backward import PullingPass
from mechlearn.agreement.engine.collected import Path
from mechlearn.agreement.engine.delivery import silent
from mechlearn.agreement.engine.hooks import Retained
from mechlearn.agreement.engine.layers.terms import Stacked
from mechlearn.agreement.engine.planning import Asked, Partitions, Plan, ask, mean_losses, paths_of
from mechlearn.agreement.engine.recomputed import reusable
from mechlearn.agreement.engine.streaming import passes_below, stream_environment_gradients
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.engine.variance.clusters import Clusters
from mechlearn.agreement.statistics.pieces import add_pieces, merged, squares_of, terms_of
from mechlearn.agreement.statistics.results import GradientStatistics, ParameterStatistics
from mechlearn.agreement.statistics.sums import PieceSums, squares_of_rows
from mechlearn.arguments import check_flag, worded
from mechlearn.environments import EnvironmentIds, Environments, check_trainable


@worded
def gradient_statistics(
    model: nn.Module, losses: Float[Tensor, "..."], environments: EnvironmentIds, *, examples: bool = False, pairs: bool = True
) -> GradientStatistics:
    """Return how the gradients of a batch's environments differ: norms, cosines, signs, noise, whole and by layer.

    Call it between the forward pass and ``losses.mean().backward()``, which can follow: the graph is kept, and no ``.grad``
    changes. `watch` makes a forward pass of its own. With every row its own environment, ``range(len(losses))``, the
    statistics are of rows.

    One backward pass serves every parameter whose operations have a formula, and forms its gradients in pieces of 4 MiB over
    all environments. It holds all environments' gradients of one parameter at a time where these cannot be formed in pieces,
    as of grouped or transposed convolutions; those of the parameters of one weight norm, or of W + B A; and those of all
    parameters whose path is "per-environment" (`GradientStatistics.paths`).

    Args:
        model: any module; parameters that require no gradient are left out.
        losses: (B,) one unreduced loss for each row.
        environments: B ids, in any order: integers, strings or anything hashable.
        examples: form the norm of each row's gradient, too, for the noise within environments.
        pairs: form all products between environments, for `GradientStatistics.cosines`; their cost grows as E^2.

    Raises:
        TypeError: if the model, losses, ids or flags are of another type.
        ValueError: if losses are reduced or have no graph, if ids do not fit, or if BatchNorm mixes the rows.
        RuntimeError: if the losses' graph was used up by an earlier backward pass.

    Example:
        >>> import torch
        >>> from mechlearn.agreement.statistics import gradient_statistics
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0]])  # the second feature disagrees
        >>> found = gradient_statistics(model, (model(x)[:, 0] - 10.0) ** 2, ["a", "b"])
        >>> found.sign_agreement, found.sign_conflict
        (0.5, 0.5)
    """
    return statistics_of(model, losses, environments, examples=examples, pairs=pairs, retain_graph=True)


def statistics_of(
    model: nn.Module, losses: Tensor, environments: EnvironmentIds, *, examples: bool, pairs: bool, retain_graph: bool
) -> GradientStatistics:
    """Return `gradient_statistics`, of a graph that need not be kept."""
    check_trainable(model)
    check_flag("examples", examples)
    check_flag("pairs", pairs)
    with torch.no_grad(), _in_sentences():
        asked = ask(model, losses, environments, Partitions())
        return _Measuring(model, asked, examples=examples, pairs=pairs).run(retain_graph)


class _Measuring:
    """One call.

    Args:
        model: any module.
        asked: its losses and what they depend on.
        examples: form rows' gradients as well.
        pairs: form products between environments.
    """

    def __init__(self, model: nn.Module, asked: Asked, *, examples: bool, pairs: bool) -> None:
        groups = asked.groups
        self._model, self._groups, self._examples, self._pairs = model, groups, examples, pairs
        self._rows = _by_row(groups) if examples and max(groups.sizes) > 1 else None
        self._asked = asked if self._rows is None else asked._replace(groups=self._rows)
        self._found: dict[str, ParameterStatistics] = {}
        self._paths: dict[str, Path] = {}

    def run(self, retain_graph: bool) -> GradientStatistics:
        """Return the statistics."""
        asked, groups = self._asked, self._groups
        _check_apart(asked)
        plan = paths_of(asked, None, vouched=False, pulling=True)
        # What is retained is not settled: it stays as it was.
        kept = reusable(asked.graph.kinds, kept=retain_graph)
        with silent(asked.graph.leaves.values()), Retained(self._model), kept:
            arrived = self._in_one_pass(plan, retain_graph or bool(plan.reasons))
            self._one_by_one(plan, arrived)
        ids = groups.ids.clone() if isinstance(groups.ids, Tensor) else groups.ids
        losses = mean_losses(asked.losses.detach(), groups).double().cpu()
        order = [name for name in asked.parameters if name in self._found]
        found = {name: self._found[name] for name in order}
        return GradientStatistics(
            ids, groups.sizes, groups.index.cpu(), losses, found, {name: self._paths[name] for name in order}
        )

    def _in_one_pass(self, plan: Plan, retain_graph: bool) -> Tensor | None:
        asked = self._asked
        times = asked.groups.count if plan.hooked else 1
        pulled = set[str]().union(*(made.names for made in plan.made.values())) & plan.reads.keys()
        held = {name: self._blank_held(asked.parameters[name]) for name in pulled}

        def complete(name: str) -> None:
            self._of_held(name, held.pop(name), "layer")

        reading = _Reading(asked, plan, held, complete, times, take=self._of_uses)
        weights = asked.weights if times == 1 else asked.weights / times
        reading.run(asked.losses, weights, retain_graph=retain_graph, at=None if plan.cut is None else plan.cut.edge)
        return reading.arrived

    def _of_uses(self, name: str, uses: list[formulas.Use]) -> None:
        """Take the statistics of a parameter whose reads are complete."""
        parameter = self._asked.parameters[name]
        sums, squared = self._blank(parameter), self._blank_squares(parameter)
        for term in terms_of(uses, parameter.shape):
            own = term
            if squared is not None and self._rows is not None:
                squared += squares_of(term, parameter.numel())
                own = merged(term, self._rows.counts, _owners(self._rows))
            add_pieces(own, sums)
        self._keep(name, parameter, sums, squared, "layer")

    def _one_by_one(self, plan: Plan, arrived: Tensor | None) -> None:
        """Take what no formula serves: one backward pass for each environment or row, by the definition."""
        rest = {name: self._asked.parameters[name] for name in plan.reasons}
        groups = self._asked.groups
        passes = passes_below(plan.cut, arrived, groups)
        found = stream_environment_gradients(self._asked.losses, groups, rest, self._blank_held, passes=passes)
        for name, held in found.items():
            assert isinstance(held, _Held)  # _blank_held makes them
            self._of_held(name, held, "per-environment")

    def _of_held(self, name: str, held: "_Held", path: Path) -> None:
        """Take the statistics of a parameter whose environments' gradients are held."""
        sums = self._blank(held.stack)
        add_pieces(Stacked(held.stack), sums)
        self._keep(name, self._asked.parameters[name], sums, held.squares, path)

    def _blank_held(self, parameter: Tensor) -> "_Held":
        owners = range(self._groups.count) if self._rows is None else _owners(self._rows).tolist()
        return _Held(parameter, owners, self._groups.count, self._blank_squares(parameter))

    def _blank(self, like: Tensor) -> PieceSums:
        return PieceSums(self._groups.count, like.device, pairs=self._pairs)

    def _blank_squares(self, like: Tensor) -> Tensor | None:
        if self._rows is None:
            return None
        return torch.zeros(self._rows.count, dtype=torch.float64, device=like.device)

    def _keep(self, name: str, parameter: Tensor, sums: PieceSums, squared: Tensor | None, path: Path) -> None:
        sums = sums.finished()
        of_rows = self._of_rows(sums.squares.cpu(), None if squared is None else squared.cpu())
        gram = None if sums.gram is None else sums.gram.cpu()
        numbers = int(sums.agreeing), int(sums.conflicting)
        self._paths[name] = path
        self._found[name] = ParameterStatistics(
            parameter.numel(), sums.squares.cpu(), sums.along.cpu(), gram, *numbers, of_rows
        )

    def _of_rows(self, of_environments: Tensor, squared: Tensor | None) -> Tensor | None:
        """Return |g_i|^2 in the caller's order, from those of what rows contribute to their environments' mean gradients."""
        groups = self._groups
        if squared is None:
            alone = max(groups.sizes) == 1
            return of_environments[groups.index.cpu()] if alone else None
        sizes = torch.tensor(groups.sizes, dtype=torch.float64)
        squared = squared * sizes.repeat_interleave(torch.tensor(groups.sizes)).square()
        return squared if groups.order is None else torch.empty_like(squared).index_copy_(0, groups.order.cpu(), squared)


class _Held(RunningSums):
    """The gradients of all environments of one parameter, side by side: of one that comes by an environment at a time.

    Args:
        like: the parameter.
        owners: the environment of each gradient that is added, a row's or an environment's.
        environments: E.
        squares: where the square of each one's norm goes; None for nowhere.
    """

    def __init__(self, like: Tensor, owners: Sequence[int], environments: int, squares: Tensor | None) -> None:
        super().__init__(like, frozenset())
        self.stack = torch.zeros(environments, *like.shape, dtype=self.dtype, device=like.device)
        self.squares, self._owners = squares, owners

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Add the gradients of c further environments or rows."""
        for gradient in gradients:
            self.stack[self._owners[self.environments]] += gradient
            if self.squares is not None:
                self.squares[self.environments] = squares_of_rows(gradient[None])[0]
            self.environments += 1

    def add_silent(self, environments: int) -> None:
        """Add gradients of 0."""
        self.environments += environments


class _Reading(PullingPass):
    """One backward pass that hands over what reads add to a parameter, as soon as all of them are there.

    Args:
        asked: what the call asks.
        plan: of its parameters.
        held: where gradients go of parameters that are read through functions of several, by name.
        complete: told the name of such a one.
        times: as for `LayerPass`.
        take: is given any other parameter's name and what its reads add; nothing where no gradient reached it.
    """

    def __init__(
        self,
        asked: Asked,
        plan: Plan,
        held: Mapping[str, RunningSums],
        complete: Callable[[str], None],
        times: int,
        *,
        take: Callable[[str, list[formulas.Use]], None],
    ) -> None:
        super().__init__(asked, plan, held, complete, times)
        self._take, self._held = take, {*held, *plan.made}

    def _add(self, name: str) -> None:
        if name in self._held:
            super()._add(name)
        else:
            self._take(name, self._taken.pop(name))


def _by_row(groups: Environments) -> Clusters:
    """Return the partition in which every row is a cluster of its environment; an environment may have one."""
    places = torch.arange(len(groups.index), device=groups.index.device)
    index = places if groups.order is None else torch.empty_like(places).index_copy_(0, groups.order, places)
    return Clusters(places.cpu(), index, (1,) * len(places), groups.order, groups, groups.sizes)


def _owners(rows: Clusters) -> Tensor:
    """Return (B,) the environment of each row, environments adjacent."""
    return torch.arange(len(rows.counts)).repeat_interleave(torch.tensor(rows.counts))


def _check_apart(asked: Asked) -> None:
    """Reject batch statistics: what a row's own gradient is they leave open."""
    try:
        check_batch_norm(asked.graph, asked.model, None, asked.groups.count)
    except ValueError:
        raise ValueError(
            "The model should treat each row by itself, as gradients by environment are of its own rows. Found BatchNorm in "
            "train mode in the graph of `losses`, which normalises with the statistics of the whole batch. Put these layers in "
            "eval mode for this call, or use GroupNorm."
        ) from None


@contextmanager
def _in_sentences() -> Generator[None]:
    """Say what torch's errors of backward passes mean here."""
    try:
        yield
    except RuntimeError as error:
        if "backward through the graph a second time" in str(error):
            raise RuntimeError(
                "`losses` should come from a graph that is still there. Found one that an earlier backward pass has used up. "
                "Call this before the backward pass."
            ) from None
        raise
