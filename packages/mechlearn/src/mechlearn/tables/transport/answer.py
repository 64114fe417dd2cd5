"""The answer: scores by candidate, the room, and the verdict in words."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from mechlearn.tables.fitting import Task
from mechlearn.tables.scores import NAMES
from mechlearn.tables.transport.drop import Drop
from mechlearn.tables.transport.evaluation import YARDSTICK, Failure
from mechlearn.tables.transport.intervals import ALIKE, FEWEST, Interval, mean_over_sites
from mechlearn.tables.transport.labelled import Curve
from mechlearn.tables.transport.methods import NAMES as METHODS
from mechlearn.tables.transport.room import WORTH, Room
from mechlearn.tables.transport.scored import Scored

NOTHING = "There is nothing to win by training differently"
"""What is said where the room holds nothing worth it."""


class SiteMean(NamedTuple):
    """A site's mean target, or share of a class, and what the best simple candidate said without it; NaN where it failed."""

    name: str
    rows: int
    said: float
    found: float


@dataclass(frozen=True, eq=False)
class Transport:
    """What a model will do at a site that it has not seen, and whether training differently could change it.

    Attributes:
        task: what the target is.
        sites: that were left out, each once.
        candidates: by name; "best simple" is the yardstick: the simple candidate that was best on validation sites, chosen anew
            without each site.
        own: names of the person's own candidates.
        kept: the simple candidate that is best on all sites, the one to train.
        chosen: how often each simple candidate was the yardstick, over folds.
        room: what the site's own rows would add; None where it is unknown.
        curve: what 5 to 50 labelled rows of the new site are worth; None where no site has enough.
        drop: from random folds to left-out sites, by cause; None where it is unknown.
        means: of each site.
        event: what these are of.
        failures: what could not be fitted.
        notes: sentences on the table.
    """

    task: Task
    sites: tuple[str, ...]
    candidates: Mapping[str, Scored]
    own: tuple[str, ...]
    kept: str
    chosen: Mapping[str, int]
    room: Room | None
    curve: Curve | None
    drop: Drop | None
    means: tuple[SiteMean, ...]
    event: str
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]

    @property
    def score_name(self) -> str:
        """Return what the verdict is drawn on."""
        return NAMES[self.task][0]

    @property
    def error_name(self) -> str:
        """Return what is lower for what is better."""
        return NAMES[self.task][1]

    @property
    def asked(self) -> str:
        """Return the candidate whose score is predicted: the person's own if there is one, else the best simple one."""
        mine = [name for name in self.own if name not in METHODS]
        return mine[0] if len(mine) == 1 else YARDSTICK

    @property
    def sentences(self) -> list[str]:
        """Return the verdict: what to expect, each further candidate beside the best simple one, the room, labelled rows."""
        return [_expected(self, self.asked, self.candidates[self.asked]), *_compared(self), _room(self), *_labelled(self)]

    @property
    def verdict(self) -> str:
        """Return the answer, in one paragraph."""
        return " ".join(self.sentences)

    def gain(self, name: str, over: str) -> tuple[float, Interval | None]:
        """Return how many points a candidate is better than another one, over the sites that both have, and its interval."""
        one, other = self.candidates[name].scores, self.candidates[over].scores
        pairs = [(value, other[site]) for site, value in one.items()]
        points = [100 * (ours - theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
        return (float(np.mean(points)) if points else math.nan), mean_over_sites(points)

    def lines(self) -> list[str]:
        """Return lines with a candidate in each: left-out sites, the next one, random folds, the gap, log loss or RMSE."""
        score, error = NAMES[self.task]
        width = max(map(len, self.candidates))
        lines = [f"{score + ' at':<{width}}  left-out sites  the next one [90 %]  random folds     gap  {error}"]
        for name, one in self.candidates.items():
            interval = _bracket(one.next_site).strip() or "none"
            known = f"{_number(one.mean):>14}  {interval:>19}  {_number(one.random):>12}  {_number(one.gap):>6}"
            numbers = f"{known}  {f'{one.error:.3g}' if math.isfinite(one.error) else 'none'}"
            lines.append(f"{name:<{width}}  {numbers}")
        worst = ", ".join(f"{name} ({value:.2f})" for name, value in self.candidates[self.asked].worst)
        return [*lines, f"Worst sites of {self.asked}: {worst or 'unknown'}.", *_curve_lines(self)]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "verdict": self.verdict,
            "task": self.task,
            "score": self.score_name,
            "error": NAMES[self.task][1],
            "sites": list(self.sites),
            "kept": self.kept,
            "chosen": dict(self.chosen),
            "own": list(self.own),
            "candidates": {name: one.as_dict() for name, one in self.candidates.items()},
            "room": None if self.room is None else self.room.as_dict(),
            "curve": None if self.curve is None else self.curve.as_dict(),
            "drop": None if self.drop is None else self.drop.as_dict(),
            "means": [{**one._asdict(), "said": one.said if math.isfinite(one.said) else None} for one in self.means],
            "event": self.event,
            "failures": [asdict(one) for one in self.failures],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        """Return the verdict, a line a candidate, and the notes."""
        cause = [] if self.drop is None else [self.drop.sentence]
        return "\n".join([self.verdict, "", *self.lines(), "", *cause, *map(str, self.failures), *self.notes]).rstrip()


def _expected(found: Transport, asked: str, one: Scored) -> str:
    whose = "of the best simple candidate" if asked == YARDSTICK else f"of {asked}"
    if not math.isfinite(one.mean):
        return f"Nothing can be said {whose}, as it has no {found.score_name} at any site."
    what = f"Expect an {found.score_name} of {one.mean:.2f}{_bracket(one.next_site)}"
    known = len([value for value in one.scores.values() if value is not None])
    doubt = ""
    if one.next_site is None:
        doubt = f" There is no interval, as {known} {'site says' if known == 1 else 'sites say'} nothing of the next one."
    elif ALIKE in one.next_site.method:
        doubt = f" With {known} sites the interval {ALIKE}."
    site, worst = one.worst[0]
    at_worst = f" The worst site is {site} ({worst:.2f})." if known > 1 else ""
    return f"{what} {whose} at the next site, {_random(one)}.{_in_units(found, one)}{doubt}{at_worst}"


def _in_units(found: Transport, one: Scored) -> str:
    """The RMSE to expect, and what an R squared below 0 means: without a bound, its mean over sites is its worst site's."""
    if found.task != "regression":
        return ""
    ends = "" if one.next_error is None else f" [{one.next_error.low:.3g}, {one.next_error.high:.3g}]"
    below = " An R squared below 0 is worse than a site's own mean: go by the RMSE." if one.mean < 0 else ""
    return f" Its RMSE will be {one.error:.3g}{ends}.{below}"


def _random(one: Scored) -> str:
    if not math.isfinite(one.random):
        return "which random folds cannot be held against"
    surely = one.gap_interval is None or one.gap_interval.low > 0
    if 100 * one.gap >= WORTH and surely:
        return f"not the {one.random:.2f} of random folds"
    return f"where random folds say {one.random:.2f}"


def _compared(found: Transport) -> list[str]:
    """Say how a candidate does beside the best simple one; of more than two the best one only."""
    gains = {name: found.gain(name, YARDSTICK) for name in found.own}
    known = {name: one for name, one in gains.items() if math.isfinite(one[0])}
    names, of = list(known), ""
    if len(known) > 2:
        names, of = [max(known, key=lambda name: known[name][0])], f", the best of {len(known)} further candidates,"
    said: list[str] = []
    for name in names:
        mean, interval = known[name]
        less = "better" if mean >= 0 else "worse"
        sure = interval is not None and (interval.low > 0 or interval.high < 0)
        told = "" if sure else ", which may be chance"
        said.append(f"{name}{of} is {abs(mean):.1f} points {less} than the best simple candidate{_points(interval)}{told}.")
    return said


def _room(found: Transport) -> str:
    room = found.room
    if room is None:
        return "Whether there is anything to win by training differently is not known."
    numbers = f"room {room.mean:+.1f} points{_points(room.interval)}"
    if room.word == "none":
        return f"{NOTHING} ({numbers}): even labelled rows of the site itself add less than {WORTH:g} point."
    if room.word == "some":
        return f"There is something to win ({numbers}): a method that never sees the site can hardly add more."
    why = f"; below {FEWEST} sites there is no interval" if room.interval is None else ""
    return f"One cannot tell whether there is anything to win by training differently ({numbers}{why})."


def _labelled(found: Transport) -> list[str]:
    """What the most labelled rows up to twenty are worth, with the error where the score does not move."""
    point = None if found.curve is None else found.curve.at(20)
    if point is None:
        return []
    rows = f"{'Twenty' if point.rows == 20 else point.rows} labelled rows of a new site"
    relief = f"lower its {NAMES[found.task][1]} by {100 * point.relief:.0f} %" if point.relief >= 0.01 else ""
    if round(point.gain, 1) == 0:
        said = f"not move its {found.score_name}, but would {relief}" if relief else "be worth nothing"
    else:
        said = f"be worth {point.gain:+.1f} points{_points(point.interval)}{relief and ', and would '}{relief}"
    return [f"{rows} would {said}."]


def _curve_lines(found: Transport) -> list[str]:
    """Lines with what labelled rows are worth, a way each."""
    if found.curve is None:
        return []
    sizes = [one.rows for one in next(iter(found.curve.points.values()))]
    lines = ["", f"{'labelled rows of the new site, points':<38}" + "".join(f"{size:>8}" for size in sizes)]
    for name, points in found.curve.points.items():
        lines.append(f"{name:<38}" + "".join(f"{one.gain:>+8.1f}" for one in points))
    return lines


def _number(value: float) -> str:
    """Two decimals, without -0.00."""
    return "none" if not math.isfinite(value) else f"{0.0 if abs(value) < 0.005 else value:.2f}"


def _bracket(interval: Interval | None) -> str:
    return "" if interval is None else f" [{interval.low:.2f}, {interval.high:.2f}]"


def _points(interval: Interval | None) -> str:
    return "" if interval is None else f" [{interval.low:+.1f}, {interval.high:+.1f}]"
