"""Which steps a dynamics model should take on trajectories of one's own: fixed ones, or those that are easy to predict.

Every network is the same small one (`SkipForecaster`), with as many settings and evaluations in training. Settings, and where
each training stops, are chosen on trajectories set apart; the verdict is drawn on others that none has seen. Next to them is
what a person would try first: standing still, and ridge. The best of all that do not skip adaptively is the yardstick. What is
scored is the state `ahead` frames after a start. A candidate that skips takes ahead / mean skip steps.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from torch import nn

from mechlearn.arguments import check_whole
from mechlearn.skips import Matched
from mechlearn.tables.forecasts.forecaster import SkipForecaster
from mechlearn.tables.reading_in import Numbers, Scaling
from mechlearn.tables.saving.parts import NOWHERE, Parts
from mechlearn.tables.verdict import MARGIN, MORE, Verdict

SETTINGS = 5
"""Of each candidate: step lengths, or horizons."""

LOOKS = 20
"""A training is looked at as often, the last time at its end."""

HORIZONS = (2, 4, 8, 12, 16)
REACH = 32
"""How far ahead a state is predicted where trajectories are long enough and nothing else is asked for."""

SURE = 0.95
"""Share of resamples that must agree."""

FEWEST = 20
"""Trajectories."""

JUDGED, SETTLING = 10, 32
"""Trajectories to judge on below which nothing is told, as resamples of so few agree too often (of six a 95 % interval holds
what is true 86 times in a hundred); and how many in all leave as many (`_split`)."""

STILL, RIDGE, MOVING = "standing still", "ridge on the state", "ridge on the state and its last difference"
FIXED = ("fixed steps", "one step all the way")
ADAPTIVE = ("adaptive skips", "adaptive skips, exploring", "skips relative to distance")
"""Names of the candidates."""

SIMPLE = (STILL, RIDGE, MOVING, *FIXED)
"""Those of which the best one is the yardstick."""

STRENGTHS = (1e-3, 1e-1, 10.0, 1e3)
"""Settings of ridge: its penalty, on standardised states."""


@dataclass(frozen=True, eq=False)
class Budget:
    """What each setting of each candidate may spend: training steps, evaluations of the model in one, and hidden units.

    Evaluations are an average; `progress` is told how many of how many networks are trained.
    """

    steps: int = 400
    evaluations: int = 256
    hidden: int = 64
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "evaluations", "hidden"):
            check_whole(name, getattr(self, name), 1)


class Tried(NamedTuple):
    """A candidate with the setting that was chosen for it.

    Attributes:
        name: of the candidate.
        setting: its step or horizon in words.
        errors: (n,) of the trajectories that nothing has seen, root mean squared, in standard deviations.
        skip: frames that a step skips, on average.
        evaluations: of the model for one prediction.
        model: what predicts; None where nothing is trained by gradients.
        linear: ridge, and the spreads by which it divides states; None of others.
    """

    name: str
    setting: str
    errors: NDArray[np.float64]
    skip: float
    evaluations: int
    model: SkipForecaster | None
    linear: tuple[Ridge, Numbers] | None = None

    @property
    def error(self) -> float:
        """Return the mean of the errors."""
        return float(np.mean(self.errors))

    def predicted(self, frames: Numbers, last: Numbers) -> Numbers:
        """Return (n, D) states `ahead` frames later, from states and their last differences (0 where it is unknown)."""
        if self.linear is not None:
            model, spread = self.linear
            rows = np.concatenate([frames, last], 1) / np.tile(spread, 2)
            return np.asarray(model.predict(rows[:, : np.shape(model.coef_)[-1]])).reshape(frames.shape) * spread
        return frames if self.model is None else self.model.predict(frames, n_steps=self.evaluations)[:, -1]

    def judged(self, trajectories: Sequence[Numbers], ahead: int, scale: Numbers) -> "Tried":
        """Return it with its errors on some trajectories."""
        return self._replace(errors=_of_each(self.predicted, trajectories, ahead, scale))


Watch = Callable[[float, Tried], None]
"""Told the share of a training that is over, and the candidate as it is then: its errors are on the trajectories that settings
are chosen on, and its model trains on afterwards."""


@dataclass(frozen=True, eq=False)
class Forecasts:
    """What `compare_forecasters` found.

    Attributes:
        verdict: of the best adaptive candidate against the best simple one; a point is a per cent of its error.
        tried: every candidate, in order.
        ahead: frames.
        counts: trajectories trained on, chosen on and judged on.
        chosen: name of the candidate to use.
        kept: the candidate to use, as it was judged: the best one that steps from one state alone.
    """

    verdict: Verdict
    tried: tuple[Tried, ...]
    ahead: int
    counts: tuple[int, int, int]
    chosen: str
    kept: Tried

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return f"{sentence(self.verdict, self.ahead, self.counts[2])} {self.verdict.untold}".rstrip()

    def __str__(self) -> str:
        """The verdict, and a line for each candidate."""
        lines = [f"  {one.name:<41} {one.setting:<12} {one.error:.3f}" for one in self.tried]
        return "\n".join([self.sentence, *lines])


def sentence(verdict: Verdict, ahead: int, judged: int) -> str:
    """Return a verdict on trajectories in words."""
    low, high, gain = float(verdict.low or 0), float(verdict.high or 0), verdict.gain
    side, change, ends = ("lower", gain, (low, high)) if gain >= 0 else ("higher", -gain, (-high, -low))
    what = (
        f"the error of {verdict.method} is {side} than that of {verdict.against} by {change:.1f} per cent (95 % interval "
        f"{ends[0]:+.1f} to {ends[1]:+.1f}) on {judged} trajectories that it had not seen, {ahead} frames ahead."
    )
    words = {"helps": "Adaptive skips help", "as good": "As good", "harms": "Adaptive skips harm"}
    return f"{words.get(verdict.word, 'One cannot tell')}: {what}"


def compare_forecasters(
    trajectories: Sequence[Numbers],
    ahead: int | None = None,
    budget: Budget | None = None,
    random_state: int = 0,
    parts: Parts = NOWHERE,
    watch: Watch | None = None,
) -> Forecasts:
    """Train fixed and adaptive steps on trajectories, and judge them on others.

    Candidates: standing still; ridge on the state, and on its last difference, too; fixed steps of lengths that divide `ahead`;
    one step all the way; adaptive skip intervals without and with exploration (thesis section 2.2.1); skips relative to
    distance (our addition). All networks are stopped early.

    Args:
        trajectories: arrays (T, D), of the same D; at least 20 of more than `ahead` frames.
        ahead: how far ahead a state is to be predicted, in frames; the longest that all trajectories have, up to 32, if None.
        budget: of each setting of each candidate.
        random_state: of the split, initial weights, batches and matches.
        parts: networks that are there already, and where to put others.
        watch: told of every network that is trained, on its way; nothing that is found depends on it.
    """
    budget = budget or Budget()
    listed, ahead = check_trajectories(trajectories, ahead)
    train, chosen_on, judged = _split(listed, random_state)
    spread = np.concatenate(train).std(0)
    scale = np.where(spread > 0, spread, 1.0)
    tried, chosen_at = list[Tried](), dict[str, float]()
    for settings in _simple(train, ahead, scale):
        best = min((one.judged(chosen_on, ahead, scale) for one in settings), key=lambda one: one.error)
        tried.append(best.judged(judged, ahead, scale))
        chosen_at[best.name] = best.error
    plan = _plan(ahead)
    shared = {"hidden": budget.hidden, "steps": budget.steps, "evaluations": budget.evaluations, "window": ahead + 1}
    total, done = sum(len(settings) for settings in plan.values()), 0
    for name, settings in plan.items():
        found: list[Tried] = []
        for words, own in settings:
            model = _Stopped(**own, **shared, learning_rate=0.003, sampling=0.7, random_state=random_state)
            shown = partial(_shown, name, words, chosen_on, ahead, scale)
            model.restore(train, parts.made(f"{name} {words}", partial(model.stopped, train, shown, watch)))
            found.append(shown(model))
            done += 1
            if budget.progress is not None:
                budget.progress(done, total)
        best_of = min(found, key=lambda one: one.error)
        tried.append(best_of.judged(judged, ahead, scale))
        chosen_at[name] = best_of.error
    verdict = _told(_verdict(tried, chosen_at, random_state), len(judged))
    # The simplest that does best where settings were chosen; an adaptive one only where it helps.
    names = ADAPTIVE if verdict.word == "helps" else (STILL, RIDGE, *FIXED)
    chosen = min(names, key=lambda name: chosen_at[name])
    kept = next(one for one in tried if one.name == chosen)
    return Forecasts(verdict, tuple(tried), ahead, (len(train), len(chosen_on), len(judged)), chosen, kept)


def _shown(name: str, words: str, asked: Sequence[Numbers], ahead: int, scale: Numbers, model: SkipForecaster) -> Tried:
    steps = max(1, round(ahead / model.mean_skip_))
    return Tried(name, words, np.zeros(0), model.mean_skip_, steps, model).judged(asked, ahead, scale)


def _simple(train: Sequence[Numbers], ahead: int, scale: Numbers) -> list[list[Tried]]:
    """What a person would try first, each with its settings; not judged yet."""
    now = np.concatenate([one[_first(one, ahead) : -ahead] for one in train]) / scale
    last = np.concatenate([_last(one)[_first(one, ahead) : -ahead] for one in train]) / scale
    ends = np.concatenate([one[ahead + _first(one, ahead) :] for one in train]) / scale
    found = [[Tried(STILL, "", np.zeros(0), np.inf, 0, None)]]
    for name, rows in ((RIDGE, now), (MOVING, np.concatenate([now, last], 1))):
        fits = [(f"penalty {strength:g}", Ridge(strength).fit(rows, ends)) for strength in STRENGTHS]
        found.append([Tried(name, words, np.zeros(0), ahead, 1, None, (model, scale)) for words, model in fits])
    return found


def _last(one: Numbers) -> Numbers:
    """Each frame less the one before; 0 of the first, whose is unknown."""
    return np.diff(one, axis=0, prepend=one[:1])


class _Stopped(SkipForecaster):
    """A network where validation stops it: as it was at its least error on the trajectories that settings are chosen on.

    At a look `mean_skip_` is that of the steps since the one before, as it is that of the last twentieth in the end.
    """

    _shown: Callable[[SkipForecaster], Tried] | None = None
    _watch: Watch | None = None

    def stopped(
        self, train: Sequence[Numbers], shown: Callable[[SkipForecaster], Tried], watch: Watch | None
    ) -> dict[str, NDArray[Any]]:
        """Train, and return what `restore` takes."""
        self._shown, self._watch = shown, watch
        self._looked = self._skips = self._taken = 0
        self._least, self._best = np.inf, dict[str, NDArray[Any]]()
        self.fit(train)
        self._shown = self._watch = None
        return {**self._best, "evaluations": np.array(self.evaluations_)}

    def restore(self, train: Sequence[Numbers], kept: Mapping[str, NDArray[Any]]) -> None:
        """Take what training on the same trajectories once gave."""
        self.scaling_ = Scaling.of(np.concatenate(self._listed(train)))
        self.weights_ = [kept[f"weights {place}"] for place in range(4)]
        self.mean_skip_, self.evaluations_ = float(kept["skip"]), int(kept["evaluations"])

    def _passed(self, step: int, network: nn.Sequential, matched: Matched) -> None:
        if self._shown is None:  # of a training that is not compared
            return
        self._skips, self._taken = self._skips + int(matched.skips.sum()), self._taken + int(matched.steps.sum())
        due = LOOKS * (step + 1) // self.steps
        if due == self._looked:
            return
        self._keep(network)
        self.mean_skip_ = self._skips / self._taken
        self._looked, self._skips, self._taken = due, 0, 0
        one = self._shown(self)
        if self._watch is not None:
            self._watch((step + 1) / self.steps, one)
        if one.error < self._least or not self._best:
            weights = {f"weights {place}": values for place, values in enumerate(self.weights_)}
            self._least, self._best = one.error, {**weights, "skip": np.array(self.mean_skip_)}


def check_trajectories(trajectories: Sequence[Numbers], ahead: int | None = None) -> tuple[list[Numbers], int]:
    """Return trajectories in double precision, and how many frames ahead to predict, as `compare_forecasters` takes them."""
    listed = _checked(trajectories)
    ahead = _ahead(listed, ahead)
    if ahead < 2:
        shortest = min(len(one) for one in listed)
        raise ValueError(
            f"Trajectories should have at least 3 frames. Found one of {shortest}. Leave short ones out, or record longer."
        )
    return listed, ahead


def _checked(trajectories: Sequence[Numbers]) -> list[Numbers]:
    listed = [np.asarray(one, dtype=np.float64) for one in trajectories]
    if len(listed) < FEWEST:
        raise ValueError(
            f"A verdict needs at least {FEWEST} trajectories. Found {len(listed)}. Cut long ones, or collect more."
        )
    for index, one in enumerate(listed):
        if one.ndim != 2 or one.shape[1] != listed[0].shape[-1]:
            raise ValueError(
                f"Trajectories should be of shape (frames, features), all with as many features. Found {one.shape} in "
                f"trajectory {index} and {listed[0].shape} in the first. Make them alike, or leave one out."
            )
        if not np.isfinite(one).all():
            raise ValueError(f"Frames should be finite. Found others in trajectory {index}. Fill them or cut there.")
    return listed


def _ahead(listed: Sequence[Numbers], ahead: int | None) -> int:
    shortest = min(len(one) for one in listed)
    if ahead is None:
        longest = min(REACH, shortest - 1)
        return longest - longest % 4 if longest >= 4 else longest
    check_whole("ahead", ahead, 2)
    if shortest <= ahead:
        raise ValueError(
            f"Trajectories should have more than {ahead} frames to be judged so far ahead. Found one of {shortest}. Ask for "
            "fewer, or leave short ones out."
        )
    return ahead


def _split(listed: Sequence[Numbers], random_state: int) -> tuple[list[Numbers], list[Numbers], list[Numbers]]:
    """Half to train on, a fifth to choose on, the rest to judge on."""
    order = np.random.default_rng(random_state).permutation(len(listed))
    first, second = round(0.5 * len(listed)), round(0.7 * len(listed))
    parts = order[:first], order[first:second], order[second:]
    train, chosen_on, judged = ([listed[i] for i in part] for part in parts)
    return train, chosen_on, judged


def _plan(ahead: int) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Candidates' settings; fixed steps divide the way, so that all arrive."""
    fixed = [k for k in (1, 2, 3, 4, 6, 8, 12, 16) if ahead % k == 0 and k < ahead]
    while len(fixed) > SETTINGS:
        fixed.remove(next((k for k in (3, 6, 12) if k in fixed), fixed[-1]))
    horizons = [h for h in HORIZONS if h <= ahead] or [2]
    return {
        "fixed steps": [(f"k = {k}", {"matching": "fixed", "horizon": k}) for k in fixed],
        "one step all the way": [(f"k = {ahead}", {"matching": "fixed", "horizon": ahead})],
        "adaptive skips": [(f"H = {h}", {"horizon": h, "exploration": 0.0}) for h in horizons],
        "adaptive skips, exploring": [(f"H = {h}", {"horizon": h, "exploration": 0.4}) for h in horizons],
        "skips relative to distance": [(f"H = {h}", {"matching": "relative", "horizon": h}) for h in horizons],
    }


def _starts(one: Numbers, ahead: int) -> NDArray[np.int64]:
    """Starts of a trajectory, every half way along."""
    return np.arange(_first(one, ahead), len(one) - ahead, max(1, ahead // 2))


def _first(one: Numbers, ahead: int) -> int:
    """The first frame whose last difference is known, if there is time to go from there."""
    return int(len(one) > ahead + 1)


Predict = Callable[[Numbers, Numbers], Numbers]
"""From states and their last differences, (n, D) each, to the states `ahead` frames later."""


def _of_each(predict: Predict, trajectories: Sequence[Numbers], ahead: int, scale: Numbers) -> NDArray[np.float64]:
    """Return each trajectory's root mean squared error over its starts and features."""
    starts = [_starts(one, ahead) for one in trajectories]
    frames, last, ends = (
        np.concatenate([values[at + shift] for values, at in zip(some, starts, strict=True)])
        for some, shift in ((trajectories, 0), ([_last(one) for one in trajectories], 0), (trajectories, ahead))
    )
    squared = (((predict(frames, last) - ends) / scale) ** 2).mean(1)
    places = np.cumsum([len(at) for at in starts])
    return np.array([float(np.sqrt(part.mean())) for part in np.split(squared, places[:-1])])


def _verdict(tried: Sequence[Tried], chosen_at: Mapping[str, float], random_state: int, draws: int = 10_000) -> Verdict:
    """Judge the adaptive candidate that does best where settings were chosen against the simple one that does best there."""
    named = {one.name: one for one in tried}
    ours, theirs = (named[min(names, key=lambda name: chosen_at[name])] for names in (ADAPTIVE, SIMPLE))
    rows = np.random.default_rng(random_state).integers(len(ours.errors), size=(draws, len(ours.errors)))
    gains = 100 * (1 - ours.errors[rows].mean(1) / theirs.errors[rows].mean(1))
    gain = 100 * (1 - float(ours.errors.mean() / theirs.errors.mean()))
    low, high = (float(end) for end in np.quantile(gains, (0.025, 0.975)))
    share = float((gains > 0).mean())
    if share >= SURE and gain >= MORE:
        word = "helps"
    elif low >= -MARGIN and high <= MARGIN:
        word = "as good"
    else:
        word = "harms" if high < 0 else "cannot tell"
    differences = tuple((theirs.errors - ours.errors).tolist())
    against = f"{theirs.name} ({theirs.setting})" if theirs.setting else theirs.name
    return Verdict(word, f"{ours.name} ({ours.setting})", against, gain, low, high, 2 * min(share, 1 - share), differences)


def _told(verdict: Verdict, judged: int) -> Verdict:
    """Return what may be told of a verdict."""
    few = f"{judged} trajectories are too few to judge on: more would settle it, {SETTLING} in all at least."
    return verdict if judged >= JUDGED else replace(verdict, word="cannot tell", untold=few)
