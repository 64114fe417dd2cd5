"""`audit`: which environments disagree about a trained model, and in which parameters."""

import itertools
import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from mechlearn.arguments import check_kind, worded
from mechlearn.surfaces.consistency.definition import Consistency
from mechlearn.surfaces.consistency.score import Score, inconsistency
from mechlearn.surfaces.landscape import Landscape
from mechlearn.surfaces.model_landscape import Batches, Loss, landscape_of_model

Cell = int | float | str | None


class PairAudit(NamedTuple):
    """What the gradients of two environments have in common.

    Attributes:
        first: id of one environment.
        second: id of the other, a larger one.
        cosine: of their gradients; -1 where they pull in opposite directions, 0 where one of them is 0.
        opposed: share of components whose signs are opposite.
        parameters: the cosine for each named parameter.
    """

    first: int
    second: int
    cosine: float
    opposed: float
    parameters: dict[str, float]


class ParameterAudit(NamedTuple):
    """How far all environments agree about one named parameter.

    Attributes:
        name: as in ``model.named_parameters()``.
        components: its size.
        agreement: mean over components of abs(mean_e sign g_e), what the AND-mask compares with its threshold.
        unanimous: share of components in which every environment has the same sign.
        conflict: 1 - norm(sum_e g_e) / sum_e norm(g_e): 0 where all pull one way, 1 where they cancel.
        first: one environment of the pair with the lowest cosine in this parameter.
        second: the other.
        cosine: theirs.
    """

    name: str
    components: int
    agreement: float
    unanimous: float
    conflict: float
    first: int
    second: int
    cosine: float


class Audit(NamedTuple):
    """What `audit` found.

    Attributes:
        environments: their ids, ascending.
        losses: each environment's mean loss.
        gradient_norms: norm of each environment's gradient.
        pairs: every pair of environments, the lowest cosine first.
        parameters: every named parameter, the most conflict first.
        score: the inconsistency score, with every ordered pair and the parameters that make up its difference; None where
            it was not asked for.
    """

    environments: tuple[int, ...]
    losses: tuple[float, ...]
    gradient_norms: tuple[float, ...]
    pairs: tuple[PairAudit, ...]
    parameters: tuple[ParameterAudit, ...]
    score: Score | None

    def pair_rows(self) -> list[dict[str, Cell]]:
        """Return a flat row for each pair, for a table; the score's two values for it, where there is one."""
        scores = {} if self.score is None else {(pair.stays, pair.other): pair for pair in self.score.pairs}
        rows: list[dict[str, Cell]] = []
        for pair in self.pairs:
            row: dict[str, Cell] = {"first": pair.first, "second": pair.second, "cosine": pair.cosine, "opposed": pair.opposed}
            for key, ends in (("first_stays", (pair.first, pair.second)), ("second_stays", (pair.second, pair.first))):
                found = scores.get(ends)
                row[f"{key}_inconsistency"] = None if found is None else found.value
                row[f"{key}_walked"] = None if found is None or found.walk is None else found.walk.largest
            rows.append(row)
        return rows

    def parameter_rows(self) -> list[dict[str, Cell]]:
        """Return a flat row for each parameter; its contribution to the most inconsistent pair, where there is a score."""
        contributions = {} if self.score is None else self.score.pairs[0].contributions
        return [{**parameter._asdict(), "contribution": contributions.get(parameter.name)} for parameter in self.parameters]


@worded
def audit(
    model: nn.Module,
    loss: Loss,
    batches: Batches,
    consistency: Consistency | None = None,
    generator: Generator | None = None,
    scored: tuple[int, ...] | None = None,
) -> Audit:
    """Return which environments disagree about a model, and in which of its parameters.

    Gradients say what environments would change: one backward pass each. With ``consistency`` the inconsistency score says what
    they would not notice in each other, at the price of Hessian-vector products for every ordered pair
    (`mechlearn.surfaces.inconsistency`). The model stays as it is. Holds the gradients of all environments at once.

    Args:
        model: any module, in eval mode if it has BatchNorm or dropout.
        loss: from outputs and targets to one unreduced loss for each example.
        batches: what can be iterated over again and again and yields (inputs, targets, environments).
        consistency: of the score; None for no score.
        generator: of the score's random starts, where its method has any.
        scored: ids of the environments to score; None for all.

    Raises:
        FloatingPointError: a loss or a gradient that is not finite.
        ValueError: one environment only; what `mechlearn.surfaces.landscape_of_model` and `inconsistency` refuse.

    Example:
        >>> import torch
        >>> from mechlearn.surfaces import audit
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0]])  # the environments disagree about the second input
        >>> found = audit(model, lambda output, y: (output[:, 0] - y) ** 2, [(x, torch.tensor([10.0, 10.0]), [0, 1])])
        >>> found.pairs[0].opposed, found.parameters[0].unanimous
        (0.5, 0.5)
    """
    if consistency is not None:
        check_kind("consistency", consistency, Consistency, "mechlearn.surfaces.Consistency, or None")
    landscape = landscape_of_model(model, loss, batches)
    ids = landscape.environments
    if len(ids) < 2:
        raise ValueError(
            f"An audit compares environments: at least two are needed. Found {len(ids)}. Give each site, camera or simulator "
            "an id of its own."
        )
    found = [landscape.gradient(e) for e in range(len(ids))]
    gradients = torch.stack([gradient for _, gradient in found])
    _check_finite(ids, [value for value, _ in found], gradients)
    pairs = _pairs(landscape, gradients)
    parameters = [_parameter(name, gradients[:, where], pairs) for name, where in landscape.parameters.items()]
    score: Score | None = None
    if consistency is not None:
        ordered = None if scored is None else list(itertools.permutations(scored, 2))
        score = inconsistency(landscape, consistency, generator, ordered)
    return Audit(
        ids,
        tuple(value for value, _ in found),
        tuple(_norms(gradients).tolist()),
        tuple(sorted(pairs, key=lambda pair: pair.cosine)),
        tuple(sorted(parameters, key=lambda parameter: -parameter.conflict)),
        score,
    )


def _check_finite(ids: tuple[int, ...], losses: list[float], gradients: Float[Tensor, "e n"]) -> None:
    for e, loss in enumerate(losses):
        if not math.isfinite(loss) or not bool(gradients[e].isfinite().all()):
            what = f"a loss of {loss}" if not math.isfinite(loss) else "a gradient with NaN or infinity"
            raise FloatingPointError(
                f"An audit should be of finite losses and gradients. Found {what} in environment {ids[e]}. Look for NaN in its "
                "data, or audit a model that has not diverged."
            )


def _pairs(landscape: Landscape, gradients: Float[Tensor, "e n"]) -> list[PairAudit]:
    whole = _cosines(gradients)
    by_name = {name: _cosines(gradients[:, where]) for name, where in landscape.parameters.items()}
    ids, pairs = landscape.environments, list[PairAudit]()
    for i, j in itertools.combinations(range(len(ids)), 2):
        opposed = float((gradients[i].sign() * gradients[j].sign() < 0).double().mean())
        each = {name: float(cosines[i, j]) for name, cosines in by_name.items()}
        pairs.append(PairAudit(ids[i], ids[j], float(whole[i, j]), opposed, each))
    return pairs


def _cosines(gradients: Float[Tensor, "e n"]) -> Float[Tensor, "e e2"]:
    gradients = gradients / _scales(gradients)
    norms = gradients.norm(dim=1, keepdim=True)
    unit = torch.where(norms > 0, gradients / norms.clamp(min=torch.finfo(norms.dtype).tiny), 0)
    return unit @ unit.T


def _norms(gradients: Float[Tensor, "e n"]) -> Float[Tensor, " e"]:
    scales = _scales(gradients)
    return (gradients / scales).norm(dim=1) * scales[:, 0]


def _scales(gradients: Float[Tensor, "e n"]) -> Float[Tensor, "e 1"]:
    """Return by what each gradient is divided before its numbers are squared: 1 unless squares would leave the type's range."""
    if not gradients.shape[1]:
        return gradients.new_ones(len(gradients), 1)
    largest, limits = gradients.abs().amax(1, keepdim=True), torch.finfo(gradients.dtype)
    inside = (largest == 0) | ((largest > limits.tiny**0.5) & (largest < (limits.max / gradients.shape[1]) ** 0.5))
    return torch.where(inside, 1.0, largest)


def _parameter(name: str, gradients: Float[Tensor, "e n"], pairs: list[PairAudit]) -> ParameterAudit:
    signs = gradients.sign().sum(0).abs()
    gradients = gradients / _scales(gradients.reshape(1, -1))
    norms = float(gradients.norm(dim=1).sum())
    worst = min(pairs, key=lambda pair: pair.parameters[name])
    return ParameterAudit(
        name=name,
        components=gradients.shape[1],
        agreement=float(signs.double().mean()) / len(gradients),
        unanimous=float((signs == len(gradients)).double().mean()),
        conflict=1 - float(gradients.sum(0).norm()) / norms if norms > 0 else 0.0,
        first=worst.first,
        second=worst.second,
        cosine=worst.parameters[name],
    )
