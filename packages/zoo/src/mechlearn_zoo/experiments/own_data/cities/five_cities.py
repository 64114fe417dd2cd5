"""Hourly PM2.5 and weather of five Chinese cities, from the published files, which do not ship with this package.

'PM2.5 Data of Five Chinese Cities' (Liang, Li, Zhang, Huang and Chen 2016; https://archive.ics.uci.edu/dataset/394): one file a
city, the hours of 2010 to 2015. The public code of LUPTS (Karlsson et al. 2022, https://arxiv.org/abs/2110.14993) has the
same files, named `beijing.csv` and so on. Columns are those that it uses: it leaves out precipitation, of which many values are
missing or wrong. Two uses: cities as sites, and the hours between a prediction and what it predicts as privileged columns.
"""

import csv
import datetime
import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.arguments import check_one_of, check_whole

CITIES = ("Beijing", "Chengdu", "Guangzhou", "Shanghai", "Shenyang")
WEATHER = ("DEWP", "HUMI", "PRES", "TEMP", "Iws")
WINDS = ("NE", "NW", "SE", "SW", "cv")
SEASONS = ("1", "2", "3", "4")
STATION = "PM_US Post"
"""The one station that all five cities have."""
ABSENT = (-9999.0, 999990.0)
"""Numbers that the published files hold, beside "NA", where there is no value."""
WHERE = "They are described at https://archive.ics.uci.edu/dataset/394; unpack the archive into one folder."
COLUMNS = ("PM2.5", *WEATHER, *(f"wind {name}" for name in WINDS), *(f"season {name}" for name in SEASONS))
"""Of `City.x`."""
DATA_DIGESTS: dict[str, str] = {}
"""SHA-256 of the files that this process has read, by name; a run's provenance has them."""


class City(NamedTuple):
    """One city's hours, in the file's order.

    Attributes:
        hour: (n,) hours since the beginning of 2010; they rise strictly.
        x: (n, 15) `COLUMNS`; NaN where a value is missing.
    """

    hour: Int[Tensor, " n"]
    x: Float[Tensor, "n 15"]


class Forecast(NamedTuple):
    """Hours from which PM2.5 some hours later is to be predicted; nothing is missing.

    Attributes:
        x: (m, 15) `COLUMNS` at the hour.
        privileged: (m, T, 15) the same at hours in between, the earliest first.
        y: (m,) PM2.5 at the horizon.
        hour: (m,) hours since the beginning of 2010.
    """

    x: Float[Tensor, "m 15"]
    privileged: Float[Tensor, "m t 15"]
    y: Float[Tensor, " m"]
    hour: Int[Tensor, " m"]


def five_cities(folder: str | Path, cities: Sequence[str] = CITIES) -> dict[str, City]:
    """Read the published files, `BeijingPM20100101_20151231.csv` or `beijing.csv` and so on.

    Args:
        folder: where they are.
        cities: which are wanted.
    """
    for name in cities:
        check_one_of("cities", name, CITIES)
    found = {name: _file(Path(folder), name) for name in cities}
    lacking = [name for name, path in found.items() if path is None]
    if lacking:
        held = "none of the files" if len(lacking) == len(found) else f"no file of {', '.join(lacking)}"
        wanted = ", ".join(f"{name}PM20100101_20151231.csv" for name in lacking)
        raise FileNotFoundError(
            f"The folder {str(folder)!r} should hold the published files {wanted}. Found {held} there. {WHERE}"
        )
    return {name: _read(path) for name, path in found.items() if path is not None}


def _read(path: Path) -> City:
    """Return a city in memory of the caller's own: what is kept stays as it was read."""
    city, DATA_DIGESTS[path.name] = _city(path, _stamp(path))
    return City(city.hour.clone(), city.x.clone())


def _file(folder: Path, city: str) -> Path | None:
    """Under its published name, or as LUPTS' public code has it."""
    found = [*sorted(folder.glob(f"{city}PM*.csv")), folder / f"{city.lower()}.csv"]
    return next((path for path in found if path.is_file()), None)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=len(CITIES))
def _city(path: Path, stamp: tuple[int, int]) -> tuple[City, str]:
    """Read a file, and its digest, once for as long as it stays what it is."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        wanted = {"year", "month", "day", "hour", "season", STATION, "cbwd", *WEATHER}
        absent = sorted(wanted - set(reader.fieldnames or ()))
        if absent:
            raise ValueError(f"A file should have the published columns. Found no {', '.join(absent)} in {path.name}. {WHERE}")
        rows = [_row(row, path.name, line) for line, row in enumerate(reader, start=2)]
    if not rows:
        raise ValueError(f"A file should hold hours. Found no row in {path.name}. {WHERE}")
    hours = [hour for hour, _ in rows]
    for line, (before, hour) in enumerate(pairwise(hours), start=3):
        if hour <= before:
            found = f"hour {hour} since 2010 behind {before} in line {line} of {path.name}"
            raise ValueError(f"Hours should rise from line to line. Found {found}. Sort the file, and keep one line an hour.")
    return City(torch.tensor(hours), torch.tensor([values for _, values in rows])), digest


def _row(row: Mapping[str, str], name: str, line: int) -> tuple[int, list[float]]:
    since = _hours(row, name, line)
    blown = _kinds(row, "cbwd", WINDS, name, line)
    season = _kinds(row, "season", SEASONS, name, line)
    return since, [*(_number(row, key, name, line) for key in (STATION, *WEATHER)), *blown, *season]


def _hours(row: Mapping[str, str], name: str, line: int) -> int:
    """Since the beginning of 2010."""
    try:
        year, month, day, hour = (int(row[key]) for key in ("year", "month", "day", "hour"))
        date = datetime.datetime(year, month, day, hour)
    except (TypeError, ValueError):
        found = [row[key] for key in ("year", "month", "day", "hour")]
        raise ValueError(
            f"Every line should have a date and an hour from 0 to 23. Found {found} in line {line} of {name}. {WHERE}"
        ) from None
    return (date - datetime.datetime(2010, 1, 1)).days * 24 + hour


def _kinds(row: Mapping[str, str], key: str, kinds: Sequence[str], name: str, line: int) -> list[float]:
    """One column of 0 and 1 a kind, all missing where none is given."""
    text = row[key]
    if text not in (*kinds, "NA"):
        raise ValueError(
            f"Column {key!r} should hold {', '.join(kinds)} or NA. Found {text!r} in line {line} of {name}. {WHERE}"
        )
    return [math.nan if text == "NA" else float(text == one) for one in kinds]


def _number(row: Mapping[str, str], key: str, name: str, line: int) -> float:
    text = row[key]
    if text == "NA":
        return math.nan
    try:
        value = float(text)
    except (TypeError, ValueError):
        raise ValueError(
            f"Column {key!r} should hold numbers or NA. Found {text!r} in line {line} of {name}. {WHERE}"
        ) from None
    return math.nan if value in ABSENT else value


def forecasts(city: City, horizon: int, between: Sequence[int] = (), apart: int = 1) -> Forecast:
    """Return the hours of a city at which all that is needed is known: the hour, those in between, the horizon's PM2.5.

    Args:
        city: as read.
        horizon: hours ahead.
        between: how many hours ahead the privileged ones are, ascending; none by default.
        apart: the least number of hours between two of them; more than the horizon, and none sees into another.
    """
    check_whole("horizon", horizon, 1)
    check_whole("apart", apart, 1)
    for ahead in between:
        check_whole("between", ahead, 1)
    if list(between) != sorted(set(between)) or (between and between[-1] >= horizon):
        raise ValueError(f"`between` should ascend and stay below the horizon of {horizon} hours. Found {tuple(between)}.")
    since = city.hour - city.hour.min()
    place = torch.full((int(since.max()) + 1,), -1)
    place[since] = torch.arange(len(since))
    wanted = since[:, None] + torch.tensor([0, *between, horizon])
    starts = torch.where(wanted < len(place), place[wanted.clamp(max=len(place) - 1)], -1)
    starts = starts[(starts >= 0).all(1)]
    seen, later = city.x[starts[:, :-1]], city.x[starts[:, -1], 0]
    known = (seen.flatten(1).isfinite().all(1) & later.isfinite()).nonzero()[:, 0]
    known = known[_spaced(city.hour[starts[known, 0]].tolist(), apart)]
    return Forecast(seen[known, 0], seen[known, 1:], later[known], city.hour[starts[known, 0]])


def _spaced(hours: list[int], apart: int) -> list[int]:
    """Positions of hours, the first and each next one that is far enough from the one before."""
    kept: list[int] = []
    for place, hour in enumerate(hours):
        if not kept or hour - hours[kept[-1]] >= apart:
            kept.append(place)
    return kept
