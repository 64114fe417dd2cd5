"""Five cities' hourly PM2.5, from the published files, which do not ship: put them into a folder named `five-cities`.

Agreement: all cities but one to train on, that one to be judged, six hours ahead. Privileged: within a city, the hours in
between are known in training; the first four fifths of the time to train on, the last fifth to test on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, MinLen
from sklearn.linear_model import LinearRegression, RidgeCV  # pyright: ignore[reportMissingTypeStubs]  # it has none

from claimlab import LabError, Preset, Row, check_limits, part
from mechlearn.distill.closed_form import STRENGTHS, VotedTeachers
from mechlearn.tables.comparing import named
from mechlearn.tables.reading_in import Numbers, Table, prepare
from mechlearn_zoo.experiments.own_data.cities.five_cities import CITIES, Forecast, five_cities, forecasts
from mechlearn_zoo.experiments.own_data.comparing import Known, Predict, Settings, compared, fitted, q_filter

BETWEEN = {6: (1, 2, 3, 4, 5), 12: (3, 6, 9), 24: (6, 12, 18)}
"""Privileged hours by horizon."""
GAP = 6
"""Hours between one outcome and the next row, so that none sees into another, as in the published code."""
TEST = 0.2
"""Share of a city's rows, the last ones, to test on."""
AGREEMENT = {"part": "agreement"}
METHODS = ("pooled linear", "pooled network", "screening", "AND-mask", "conflict rule", "Cochran's Q")
"""At a city left out; the filter by significance alone joins."""
NULLS = 100
"""Number of rows at which the privileged hours are also noise, and another row's."""


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one seed."""

    folder: str = "five-cities"
    """Folder of the published files, from where the command is run."""
    cities: Annotated[tuple[str, ...], MinLen(3)] = CITIES
    """Which of them."""
    sizes: Annotated[tuple[Annotated[int, Ge(20)], ...], MinLen(1)] = (50, 100, 200, 400, 1000)
    """Numbers of training rows; where a city has fewer it is left out."""
    horizons: Annotated[tuple[int, ...], MinLen(1)] = (6, 12, 24)
    """Hours ahead."""
    rows: Annotated[int, Ge(20)] = 300
    """Rows of each city where cities are sites."""
    taught: tuple[Annotated[int, Ge(2)], ...] = ()
    """Numbers of training rows, at six hours, at which there are networks, too, which take a
    hundred times as long; () leaves them out."""

    def __post_init__(self) -> None:
        check_limits(self)
        for horizon in self.horizons:
            if horizon not in BETWEEN:
                raise ValueError(f"horizons should be among {', '.join(map(str, BETWEEN))}. Found {horizon}.")


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(Config(sizes=tuple(range(100, 825, 50)), rows=1000, taught=(100, 200, 400, 800)), seeds=75),
}


class Part(NamedTuple):
    """Rows of one city: inputs (n, J), privileged hours (n, T, J), and PM2.5 at the horizon (n,)."""

    x: Numbers
    privileged: Numbers
    y: Numbers


def run(config: Config) -> Iterator[Row]:
    """Yield scores at each city left out, then what each method explains within a city."""
    try:
        read = five_cities(config.folder, config.cities)
    except (FileNotFoundError, ValueError) as error:
        raise LabError(str(error)) from None
    ahead = {horizon: {name: _rows(forecasts(read[name], horizon, BETWEEN[horizon], horizon + GAP)) for name in read}
             for horizon in sorted({6, *config.horizons})}  # fmt: skip
    methods = {**named(METHODS), "Q filter": q_filter}
    yield from part("agreement", compared(config, sites(config, ahead[6]), methods, AGREEMENT))
    for horizon in config.horizons:
        for city, rows in ahead[horizon].items():
            for size in config.sizes:
                yield from part(f"{city}, {horizon}, {size}", within(config, city, horizon, size, rows))


def cell(horizon: int, rows: int) -> dict[str, str | int]:
    """Return where in the grid a number of rows and a horizon are."""
    return {"part": "privileged", "horizon": horizon, "rows": rows}


def _rows(found: Forecast) -> Part:
    return Part(found.x.double().numpy(), found.privileged.double().numpy(), found.y.double().numpy())


def sites(config: Config, parts: dict[str, Part]) -> Table:
    """Return rows drawn from every city as a table."""
    rng = np.random.default_rng([config.seed, 1])
    drawn = {name: rng.permutation(len(part.y))[: config.rows] for name, part in parts.items()}
    x = np.concatenate([parts[name].x[rows] for name, rows in drawn.items()])
    y = np.concatenate([parts[name].y[rows] for name, rows in drawn.items()])
    return prepare(x, y, np.repeat(list(drawn), [len(rows) for rows in drawn.values()]), "regression")


def within(config: Config, city: str, horizon: int, size: int, part: Part) -> Iterator[Row]:
    """Yield every method's share of variance explained in the last fifth of the time, in points."""
    known = round((1 - TEST) * len(part.y))
    if size > known:
        return
    rng = np.random.default_rng([config.seed, horizon, size, CITIES.index(city)])
    rows = rng.permutation(known)[:size]
    x, privileged, y = part.x[rows], part.privileged[rows], part.y[rows]
    predictors = closed_form(x, privileged, y, config.seed)
    if size == NULLS:
        nulls = {"noise": rng.normal(size=privileged.shape), "permuted": privileged[rng.permutation(size)]}
        predictors |= {name: VotedTeachers(random_state=config.seed).fit(x, y, z).predict for name, z in nulls.items()}
    if horizon == 6 and size in config.taught:
        predictors |= fitted(Known(x, privileged.reshape(size, -1), y[:, None]), config.seed)
    wanted = part.y[known:]
    for method, predict in predictors.items():
        error = ((np.asarray(predict(part.x[known:])).ravel() - wanted) ** 2).mean()
        score = 100 * float(1 - error / wanted.var())
        yield {"kind": "score", **cell(horizon, size), "new": city, "method": method, "score": score}


def closed_form(x: Numbers, privileged: Numbers, y: Numbers, seed: int) -> dict[str, Predict]:
    """Fit what takes milliseconds; inputs are standardised by the training rows."""
    mean, spread = x.mean(0), np.where(x.std(0) > 0, x.std(0), 1.0)
    hours = (privileged - mean) / spread
    inputs = (x - mean) / spread

    def of(model: Any) -> Predict:  # noqa: ANN401
        return lambda new: model.predict((new - mean) / spread)

    return {
        "OLS": of(LinearRegression().fit(inputs, y)),
        "ridge": of(RidgeCV(STRENGTHS).fit(inputs, y)),
        "LUPTS": of(Chain(inputs, hours, y)),
        "generalised distillation": of(distilled(inputs, hours, y, seed)),
        "vote": VotedTeachers(random_state=seed).fit(x, y, privileged).predict,
        "vote without": VotedTeachers(random_state=seed).fit(x, y).predict,
    }


class Chain:
    """LUPTS (Karlsson et al. 2022, algorithm 1): least squares from each hour to the next, and from the last to the outcome."""

    def __init__(self, x: Numbers, hours: Numbers, y: Numbers) -> None:
        stages = [x, *hours.transpose(1, 0, 2)]
        self.steps = [LinearRegression().fit(one, two) for one, two in pairwise(stages)]
        self.last = LinearRegression().fit(stages[-1], y)

    def predict(self, x: Numbers) -> Numbers:
        """Follow the chain."""
        for step in self.steps:
            x = step.predict(x)
        return self.last.predict(x)


SHARES = (0.25, 0.5, 0.75)
"""Of the teacher in the targets, as in the published code of LUPTS."""


def distilled(x: Numbers, hours: Numbers, y: Numbers, seed: int) -> Any:  # noqa: ANN401
    """Least squares on targets partly of a teacher's, who sees all privileged hours (Lopez-Paz et al. 2016; their eq. 5).

    A fifth of the rows chooses the share. With squared errors the mixed loss is that of mixed targets.
    """
    flat = hours.reshape(len(hours), -1)
    order = np.random.default_rng(seed).permutation(len(x))
    some, rest = order[: len(x) // 5], order[len(x) // 5 :]

    def student(rows: Any, share: float) -> Any:  # noqa: ANN401
        teacher = LinearRegression().fit(flat[rows], y[rows])
        return LinearRegression().fit(x[rows], (1 - share) * y[rows] + share * teacher.predict(flat[rows]))

    errors = {share: float(((student(rest, share).predict(x[some]) - y[some]) ** 2).mean()) for share in SHARES}
    return student(order, min(errors, key=lambda share: errors[share]))
