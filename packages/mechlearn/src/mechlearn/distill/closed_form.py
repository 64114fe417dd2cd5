"""Vote over closed-form teachers: privileged columns of a small table put to use in milliseconds, or found to be of none.

Ours, past the thesis: it is not LDT, and no gradient is involved. A *teacher* is a recipe that uses privileged columns x* in
training and yields a predictor of x alone, for a path of strengths; cross-validation decides which recipe and how strong.
Recipes fit structure by supervision on x* (what lies between x and y, which inputs matter); validation chooses among them.

    R      ridge
    V, V1  ridge on x_j |b_j|^p, p = 1/2 and 1, b from a ridge of its own: adaptive, without privileged data
    C      x -> x*_1 -> ... -> x*_T -> y, each a ridge, composed (LUPTS with a strength; Karlsson et al. 2022)
    S      ridge on soft targets m(x*_T) (generalised distillation; Lopez-Paz et al. 2016)
    U, U1  as V, with the chain's weights for b: privileged data set the penalties
    B      kernels: f: x -> x* and g: x* -> y fitted apart; g(f(x)) (the independent concept bottleneck; Koh et al. 2020)

The vote: rows are weighted at random 200 times (Bayesian bootstrap); a candidate's weight is the share of times in which its
cross-validated error is the least. Privileged candidates carry a handicap, so that columns of noise gain nothing.
Index conventions: i a row of n, k a candidate, l a strength of L.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from mechlearn.arguments import check_each, check_not_negative, check_one_of, check_whole

Numbers = NDArray[np.float64]

STRENGTHS = 10.0 ** np.linspace(-1, 5, 13)
KERNEL_STRENGTHS = 10.0 ** np.linspace(-4, 2, 10)
FIRST = 10.0
"""Strength of fits that only set another's penalties or targets."""

RECIPES: Mapping[str, tuple[str, ...]] = {"linear": ("R", "V", "V1", "C", "S", "U", "U1"), "kernel": ("R", "S", "B")}
"""By the kind of teachers."""

PRIVILEGED = frozenset({"C", "S", "U", "U1", "B"})
"""Recipes that need privileged columns."""


class Recipes(NamedTuple):
    """Predictions of rows by every recipe's path of strengths; linear ones also as weights.

    Attributes:
        predicted: by recipe, (L, rows, K).
        weights: by recipe, (L, J, K) for standardised inputs; empty for kernels.
    """

    predicted: Mapping[str, Numbers]
    weights: Mapping[str, Numbers]


@dataclass
class VotedTeachers:
    """The vote. Inputs and targets are standardised inside, by the training rows.

    Args:
        teachers: "linear" recipes give one linear predictor; "kernel" ones (R, S and B with a linear and a Gaussian kernel)
            cost n^3 and see what is not linear. To kernels an input that was constant in training still speaks at prediction,
            where it has another value (`mechlearn.tables` holds it at its value).
        handicap: c; privileged candidates' errors grow by c sigma^2 / n.
        only: names of the recipes that may be voted for, of those that these teachers have; None for all. Privileged ones are
            left out where `fit` gets no privileged columns.
        resamplings: of the rows.
        random_state: seed of folds and resamplings.

    Attributes:
        votes_: weight by recipe, summed over strengths; they add up to 1.
        report_: cross-validated share of variance explained: of each recipe at its best strength, of the vote ("vote"), and of
            the vote without privileged data ("without privileged"). Of targets that do not vary it is 1, as scikit-learn's
            `r2_score` has it. Linear teachers' errors are means over three splits; the vote itself is by the error of the
            three splits' mean prediction (docs/evidence/deviations.md).
        gain_: the vote's gain over the vote without privileged data in that unit, and twice its standard error over rows, or
            over groups of them.
        coef_, intercept_: of linear teachers, (K, J) and (K,), in the units of the inputs and targets.

    Raises:
        TypeError, ValueError: settings that cannot be.
    """

    teachers: Literal["linear", "kernel"] = "linear"
    handicap: float = 1.0
    only: Sequence[str] | None = None
    resamplings: int = 200
    random_state: int = 0
    votes_: dict[str, float] = field(default_factory=dict, init=False)
    report_: dict[str, float] = field(default_factory=dict, init=False)
    gain_: tuple[float, float] = field(default=(0.0, 0.0), init=False)

    def __post_init__(self) -> None:
        check_one_of("teachers", self.teachers, ("linear", "kernel"))
        check_not_negative("handicap", self.handicap)
        check_whole("resamplings", self.resamplings, 1)
        if self.only is not None:
            self._check_only(self.only)

    def _check_only(self, only: Sequence[str]) -> None:
        """Reject recipes that these teachers have not: left out without a word, they would seem to have lost the vote."""
        known = RECIPES[self.teachers]
        check_each("only", only, str, "names of recipes", way_out=f"{self.teachers} teachers have {', '.join(known)}.")
        for name in only:
            other = [teachers for teachers, names in RECIPES.items() if name in names]
            way_out = f"{name} is one of {other[0]} teachers." if other else ""
            check_one_of("only", name, known, way_out=way_out)
        if not only:
            raise ValueError(f"`only` should name a recipe at least. Found none. Pass None for all, or some of {known}.")

    def fit(
        self, x: ArrayLike, y: ArrayLike, privileged: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> "VotedTeachers":
        """Choose among teachers.

        Args:
            x: (n, J) inputs.
            y: (n,) or (n, K) targets: numbers, or classes as columns of 0 and 1.
            privileged: (n, Q) columns known in training only, or (n, T, Q) of T steps in time; None for none.
            groups: (n,) whose each row is, of repeated measurements: rows of one are never on both sides of a fold, are
                resampled together, and the handicap counts groups. None where rows are independent. Kernel teachers from x to
                x* still take their own strength by leaving out single rows.

        Raises:
            ValueError: fewer than ten rows or two groups, tables without columns or of different lengths, or numbers that are
                not finite.
            TypeError: tables of anything but real numbers.
        """
        self._forget()
        inputs, targets, steps = _checked(x, y, privileged)
        self._group = None if groups is None else _numbered(groups, len(inputs))
        random = np.random.default_rng(self.random_state)
        splits = 3 if self.teachers == "linear" else 1
        parts = _parts(self._group, len(inputs), splits, random)
        outside = [_cross_fitted(self._recipes, inputs, targets, steps, split) for split in parts]
        names = [(name, strength) for name, paths in outside[0].items() for strength in range(len(paths))]
        each = [np.concatenate(list(split.values())) for split in outside]  # (candidates, n, K) a split, standardised
        predictions = _mean(each)
        wanted = _Standard(targets).applied(targets)
        errors = ((predictions - wanted) ** 2).sum(2)
        taught = np.array([name in PRIVILEGED for name, _ in names])
        shares = self._vote(errors, taught, random)
        plain = self._vote(errors[~taught], taught[~taught], random) if taught.any() and not taught.all() else None
        self._fit_all(inputs, targets, steps, names, shares)
        self._say(names, shares, plain, taught, each, wanted)
        return self

    def _forget(self) -> None:
        """Leave nothing of an earlier fit, whose teachers or privileged columns were others."""
        self.votes_, self.report_, self.gain_ = {}, {}, (0.0, 0.0)
        for name in ("coef_", "intercept_", "_kept", "_fitted", "_shares", "_errors"):
            self.__dict__.pop(name, None)

    def predict(self, x: ArrayLike) -> Numbers:
        """Return (n, K) predictions from inputs alone.

        Raises:
            ValueError: another number of columns.
            sklearn.exceptions.NotFittedError: nothing was fitted; an AttributeError where scikit-learn is not installed.
        """
        if not self.votes_:
            raise _unfitted("VotedTeachers should be fitted before they predict. Found none fitted. Call fit(x, y) first.")
        inputs = _table("x", x)
        if inputs.ndim != 2 or inputs.shape[1] != self._columns:
            raise ValueError(
                f"Inputs should have the {self._columns} columns trained on. Found shape {inputs.shape}. "
                "Privileged columns are not needed to predict."
            )
        if self.teachers == "linear":
            return inputs @ self.coef_.T + self.intercept_
        x, y, steps = self._kept
        own, standard = _Standard(x), _Standard(y)
        fitted = self.__dict__.get("_fitted")
        if fitted is None:  # a vote that was saved before the fits were kept
            fitted = self._fitted = _kernel_fits(own.applied(x), standard.applied(y), steps).only(self._shares)
        found = fitted.predicted(own.applied(x), own.applied(inputs))
        mean = sum(share * found[pair] for pair, share in self._shares.items())
        return np.asarray(mean) * standard.spread + standard.mean

    def _recipes(self, x: Numbers, y: Numbers, steps: list[Numbers], new: Numbers) -> Recipes:
        teach = linear_recipes if self.teachers == "linear" else kernel_recipes
        found = teach(x, y, steps, new)
        if self.only is None:
            return found
        kept = [name for name in found.predicted if name in self.only]
        if not kept:
            raise ValueError(f"Some recipe should be left. Found none of {list(self.only)}: privileged columns are missing.")
        return Recipes({name: found.predicted[name] for name in kept}, {n: w for n, w in found.weights.items() if n in kept})

    def _vote(self, errors: Numbers, taught: NDArray[np.bool_], random: np.random.Generator) -> Numbers:
        """Return each candidate's share of wins over resampled rows."""
        count = errors.shape[1] if self._group is None else int(self._group.max()) + 1
        weights = random.exponential(size=(self.resamplings, count))
        weights = weights if self._group is None else weights[:, self._group]
        weights /= weights.sum(1, keepdims=True)
        noise = errors.mean(1).min()  # sigma^2, by the best candidate's error
        scores = weights @ errors.T + taught * self.handicap * noise / count
        return np.bincount(scores.argmin(1), minlength=len(errors)) / self.resamplings

    def _fit_all(self, x: Numbers, y: Numbers, steps: list[Numbers], names: list[tuple[str, int]], shares: Numbers) -> None:
        self._columns = x.shape[1]
        self._shares = {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0}
        self.votes_ = {}
        for (name, _), share in self._shares.items():
            self.votes_[name] = self.votes_.get(name, 0.0) + share
        if self.teachers == "kernel":
            self._kept = (x.copy(), y.copy(), [step.copy() for step in steps])  # the caller's may change
            self._fitted = _kernel_fits(_Standard(x).applied(x), _Standard(y).applied(y), steps).only(self._shares)
            return
        inputs, targets = _Standard(x), _Standard(y)
        weights = self._recipes(inputs.applied(x), targets.applied(y), steps, x[:1]).weights
        mean = np.asarray(sum(share * weights[name][strength] for (name, strength), share in self._shares.items()))
        self.coef_ = (mean / inputs.spread[:, None] * targets.spread).T
        self.intercept_ = targets.mean - self.coef_ @ inputs.mean

    def _say(
        self,
        names: list[tuple[str, int]],
        shares: Numbers,
        plain: Numbers | None,
        taught: NDArray[np.bool_],
        each: list[Numbers],
        wanted: Numbers,
    ) -> None:
        """Report by the mean over splits of squared errors: of a split's predictions, not of the three splits' mean."""
        total = max((wanted**2).sum(1).mean(), 0.5)  # each column adds 1, one that does not vary only what rounding left
        best: dict[str, float] = {}
        errors = _mean([((predictions - wanted) ** 2).sum(2).mean(1) for predictions in each])
        for (name, _), error in zip(names, errors, strict=True):
            best[name] = max(best.get(name, -np.inf), 1 - float(error / total))
        self._errors = _mean([((np.tensordot(shares, one, 1) - wanted) ** 2).sum(1) for one in each]) / total
        self.report_ = {**best, "vote": 1 - float(self._errors.mean())}
        if plain is not None:
            beside = _mean([((np.tensordot(plain, one[~taught], 1) - wanted) ** 2).sum(1) for one in each]) / total
            self.report_["without privileged"] = 1 - float(beside.mean())
            self.gain_ = self._gain(beside)

    def gain_over(self, other: "VotedTeachers") -> tuple[float, float]:
        """Return the gain over another vote that was fitted on the same rows, as `gain_` has it over the untaught one.

        Raises:
            ValueError: a vote over other rows; one that was not fitted, or by a version that kept no errors.
        """
        errors, beside = (model.__dict__.get("_errors") for model in (self, other))
        if errors is None or beside is None or errors.shape != beside.shape:
            raise ValueError("A gain is between two votes fitted on the same rows. Found others. Fit both.")
        return self._gain(beside)

    def _gain(self, beside: Numbers) -> tuple[float, float]:
        gains = beside - self._errors
        return float(gains.mean()), 2 * _standard_error(gains, self._group)


def _mean(each: list[Numbers]) -> Numbers:
    found = np.zeros_like(each[0])
    for one in each:
        found += one / len(each)
    return found


def _unfitted(sentence: str) -> Exception:
    try:  # an extra, which nothing else here needs
        from sklearn.exceptions import NotFittedError  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return AttributeError(sentence)
    return NotFittedError(sentence)


class _Standard:
    """Means and spreads of rows; a constant column has spread 1."""

    def __init__(self, rows: Numbers) -> None:
        self.mean = rows.mean(0)
        spread = rows.std(0)
        self.spread = np.where(spread > 1e-12 * np.maximum(np.abs(self.mean), 1e-30), spread, 1.0)

    def applied(self, rows: Numbers) -> Numbers:
        return (rows - self.mean) / self.spread


def _table(name: str, value: ArrayLike | Tensor) -> Numbers:
    """Return numbers as float64; tensors without their graph."""
    found = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
    way_out = "Write words as columns of 0 and 1, and leave out what is missing."
    if found.dtype.kind == "c":
        raise TypeError(f"`{name}` should hold real numbers. Found {found.dtype}. Give real and imaginary parts as columns.")
    try:
        return found.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{name}` should hold numbers. Found that {error}. {way_out}") from error


def _checked(x: ArrayLike, y: ArrayLike, privileged: ArrayLike | None) -> tuple[Numbers, Numbers, list[Numbers]]:
    inputs, targets = _table("x", x), _table("y", y)
    targets = targets[:, None] if targets.ndim == 1 else targets
    known = None if privileged is None else _table("privileged", privileged)
    steps = [] if known is None else [known] if known.ndim == 2 else list(known.transpose(1, 0, 2)) if known.ndim == 3 else None
    if inputs.ndim != 2 or targets.ndim != 2 or steps is None:
        raise ValueError("Inputs should have the shape (n, J), targets (n,) or (n, K), privileged columns (n, Q) or (n, T, Q).")
    for name, table in (("x", inputs), ("y", targets), ("privileged", known)):
        if table is not None and 0 in table.shape[1:]:
            raise ValueError(f"`{name}` should have a column at least. Found the shape {table.shape}. Leave out what is empty.")
    lengths = {len(inputs), len(targets), *map(len, steps)}
    if len(lengths) > 1:
        raise ValueError(f"Inputs, targets and privileged columns should have as many rows. Found {sorted(lengths)}.")
    if len(inputs) < 10:
        raise ValueError(f"Cross-validation in five parts needs ten rows at least. Found {len(inputs)}.")
    if not all(np.isfinite(table).all() for table in (inputs, targets, *steps)):
        raise ValueError("Numbers should be finite. Found NaN or infinity. Fill in what is missing, or leave those rows out.")
    return inputs, targets, steps


Teach = Callable[[Numbers, Numbers, list[Numbers], Numbers], Recipes]
"""From standardised inputs and targets, privileged steps and new standardised inputs to what each recipe predicts of these."""


Group = NDArray[np.int64]
"""(n,) the number of each row's group, from 0 on."""


def _numbered(groups: ArrayLike, rows: int) -> Group:
    labels = np.asarray(groups)
    if labels.shape != (rows,):
        raise ValueError(f"`groups` should hold one label for each of the {rows} rows. Found shape {labels.shape}.")
    try:
        names, number = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError("`groups` should hold labels that can be sorted. Found several types. Pass all as text.") from error
    if len(names) < 2:
        raise ValueError("Folds of `groups` need two at least. Found one. Leave them out if rows are independent.")
    return number.astype(np.int64)


def _parts(group: Group | None, rows: int, splits: int, random: np.random.Generator) -> list[list[NDArray[np.int64]]]:
    """Return, for each split, the rows that each of five fits leaves out (of fewer groups, as many fits as these)."""
    if group is None:
        return [np.array_split(random.permutation(rows), 5) for _ in range(splits)]
    count = int(group.max()) + 1
    parts = [np.array_split(random.permutation(count), min(5, count)) for _ in range(splits)]
    return [[np.flatnonzero(np.isin(group, part)) for part in split] for split in parts]


def _standard_error(gains: Numbers, group: Group | None) -> float:
    """Of the mean over rows; with groups what each adds to the mean varies, not each row."""
    if group is None:
        return float(gains.std(ddof=1) / np.sqrt(len(gains)))
    sums = np.bincount(group, weights=gains - gains.mean())
    return float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(gains))


def _cross_fitted(
    teach: Teach, x: Numbers, y: Numbers, steps: list[Numbers], split: list[NDArray[np.int64]]
) -> dict[str, Numbers]:
    """Return each row's predictions by fits without it, (L, n, K) a recipe, in units of all rows' standardised targets."""
    total = _Standard(y)
    found: dict[str, Numbers] = {}
    for part in split:
        kept = np.setdiff1d(np.arange(len(x)), part)
        inputs, targets = _Standard(x[kept]), _Standard(y[kept])
        new = inputs.applied(x[part])
        recipes = teach(inputs.applied(x[kept]), targets.applied(y[kept]), [step[kept] for step in steps], new)
        for name, predicted in recipes.predicted.items():
            ours = found.setdefault(name, np.zeros((len(predicted), *y.shape)))
            ours[:, part] = (predicted * targets.spread + targets.mean - total.mean) / total.spread
    return found


def linear_recipes(x: Numbers, y: Numbers, steps: list[Numbers], new: Numbers) -> Recipes:
    """Fit the linear recipes."""
    first = np.array([FIRST])
    own = ridge_path(x, y, first)[0]
    weights = {"R": ridge_path(x, y), "V": _weighted_path(x, y, own, 0.5), "V1": _weighted_path(x, y, own, 1.0)}
    if steps:
        stages = [x, *(_Standard(step).applied(step) for step in steps), y]
        soft = stages[-2] @ ridge_path(stages[-2], y, first)[0]
        between = _chain(stages, first)[0]
        weights |= {"C": _chain(stages, STRENGTHS), "S": ridge_path(x, soft)}
        weights |= {"U": _weighted_path(x, y, between, 0.5), "U1": _weighted_path(x, y, between, 1.0)}
    return Recipes({name: new @ path for name, path in weights.items()}, weights)


def ridge_path(x: Numbers, y: Numbers, strengths: Numbers = STRENGTHS) -> Numbers:
    """Return (X'X + lambda)^-1 X'y for each strength, (L, J, K), from one decomposition."""
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    shrunk = sizes / (sizes**2 + strengths[:, None])  # (L, rank)
    return right.T @ (shrunk[:, :, None] * (left.T @ y))


def _chain(stages: list[Numbers], strengths: Numbers) -> Numbers:
    path = ridge_path(stages[0], stages[1], strengths)
    for before, after in pairwise(stages[1:]):
        path = path @ ridge_path(before, after, strengths)
    return path


def _weighted_path(x: Numbers, y: Numbers, b: Numbers, power: float) -> Numbers:
    """Ridge on x_j D_j, D_j = (|b_j| / max |b| + .001)^p, as weights of x."""
    size = np.linalg.norm(b, axis=1)
    scale = (size / max(float(size.max()), 1e-300) + 1e-3) ** power
    return scale[:, None] * ridge_path(x * scale, y)


def kernel_recipes(x: Numbers, y: Numbers, steps: list[Numbers], new: Numbers) -> Recipes:
    """Fit the kernel recipes: R and S on x, B through x*; each with a linear and a Gaussian kernel for the last stage."""
    found: dict[str, list[Numbers]] = {}
    for (name, _), predicted in _kernel_fits(x, y, steps).predicted(x, new).items():
        found.setdefault(name, []).append(predicted)
    return Recipes({name: np.stack(paths) for name, paths in found.items()}, {})


Kernel = Callable[[Numbers, Numbers, Numbers], Numbers]


def _linear(a: Numbers, b: Numbers, of: Numbers) -> Numbers:
    return a @ b.T / of.shape[1]


def _gaussian(a: Numbers, b: Numbers, of: Numbers) -> Numbers:
    """With the median distance of the training rows for its width."""
    return np.exp(-_squared(a, b) / max(float(np.median(_squared(of, of))), 1e-12))


def _squared(a: Numbers, b: Numbers) -> Numbers:
    return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T, 0.0)


def _kernel_path(kernel: Kernel, x: Numbers, y: Numbers) -> Numbers:
    """Return kernel ridge's weights of the training rows for each strength, (L, n, K)."""
    values, vectors = np.linalg.eigh(kernel(x, x, x))
    inverse = 1 / (np.maximum(values, 0) + KERNEL_STRENGTHS[:, None])
    return vectors @ (inverse[:, :, None] * (vectors.T @ y))


class _Dual(NamedTuple):
    """Kernel ridge as it was fitted: weights of the training rows, one set or one for each strength."""

    kernel: Kernel
    weights: Numbers

    def of(self, x: Numbers, new: Numbers) -> Numbers:
        """Return the predictions of new rows, with the training rows x."""
        return self.kernel(new, x, x) @ self.weights


def _leave_one_out(x: Numbers, y: Numbers) -> _Dual:
    """Kernel ridge, kernel and strength by the closed-form leave-one-out error."""
    best: tuple[float, Any] = (np.inf, None)
    for kernel in (_linear, _gaussian):
        values, vectors = np.linalg.eigh(kernel(x, x, x))
        for strength in KERNEL_STRENGTHS:
            hat = (vectors * (np.maximum(values, 0) / (np.maximum(values, 0) + strength))) @ vectors.T
            error = float((((y - hat @ y) / (1 - np.minimum(np.diag(hat), 1 - 1e-9))[:, None]) ** 2).mean())
            if error < best[0]:
                best = error, (kernel, strength, values, vectors)
    kernel, strength, values, vectors = best[1]
    return _Dual(kernel, vectors @ ((vectors.T @ y) / (np.maximum(values, 0) + strength)[:, None]))


class _KernelFits(NamedTuple):
    """Kernel recipes as they were fitted.

    Attributes:
        last: by recipe and number of the strength (linear kernels first) the last stage.
        seen: (n, Q) standardised privileged columns, and the fit from x to them; None without.
    """

    last: dict[tuple[str, int], _Dual]
    seen: Numbers | None
    between: _Dual | None

    def only(self, pairs: Mapping[tuple[str, int], float]) -> "_KernelFits":
        """Return those of some candidates."""
        last = {pair: _Dual(dual.kernel, dual.weights.copy()) for pair, dual in self.last.items() if pair in pairs}
        through = any(name == "B" for name, _ in last)
        return _KernelFits(last, self.seen if through else None, self.between if through else None)

    def predicted(self, x: Numbers, new: Numbers) -> dict[tuple[str, int], Numbers]:
        """Return what each candidate says of new rows, (rows, K), with the training rows x; standardised both."""
        between = None if self.between is None else self.between.of(x, new)
        products: dict[tuple[bool, Kernel], Numbers] = {}
        found: dict[tuple[str, int], Numbers] = {}
        for (name, strength), (kernel, weights) in self.last.items():
            rows, of = (between, self.seen) if name == "B" else (new, x)
            if rows is None or of is None:
                continue
            place = (name == "B", kernel)
            if place not in products:
                products[place] = kernel(rows, of, of)
            found[name, strength] = products[place] @ weights
        return found


def _kernel_fits(x: Numbers, y: Numbers, steps: list[Numbers]) -> _KernelFits:
    paths: dict[str, list[_Dual]] = {"R": []}
    seen = np.concatenate([_Standard(step).applied(step) for step in steps], 1) if steps else None
    soft = None if seen is None else _leave_one_out(seen, y).of(seen, seen)
    between = None if seen is None else _leave_one_out(x, seen)
    for kernel in (_linear, _gaussian):
        paths["R"] += [_Dual(kernel, weights) for weights in _kernel_path(kernel, x, y)]
        if seen is not None and soft is not None:
            paths.setdefault("S", []).extend(_Dual(kernel, weights) for weights in _kernel_path(kernel, x, soft))
            paths.setdefault("B", []).extend(_Dual(kernel, weights) for weights in _kernel_path(kernel, seen, y))
    return _KernelFits({(name, k): dual for name, path in paths.items() for k, dual in enumerate(path)}, seen, between)
