"""Hourly PM2.5 and weather of five Chinese cities, from the published files, which do not ship with this package.

'PM2.5 Data of Five Chinese Cities' (Liang, Li, Zhang, Huang and Chen 2016; https://archive.ics.uci.edu/dataset/394): one file a
city, the hours of 2010 to 2015. The public code of LUPTS (Karlsson et al. 2022) reads the same files. Two uses: cities as
sites, and the hours between a prediction and what it predicts as privileged columns.
"""

import csv
import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from craik.arguments import check_one_of, check_whole

CITIES = ("Beijing", "Chengdu", "Guangzhou", "Shanghai", "Shenyang")
WEATHER = ("DEWP", "HUMI", "PRES", "TEMP", "Iws", "precipitation", "Iprec")
WINDS = ("NE", "NW", "SE", "SW", "cv")
STATION = "PM_US Post"
"""The one station that all five cities have."""
WHERE = "They are described at https://archive.ics.uci.edu/dataset/394; unpack the archive into one folder."
COLUMNS = ("PM2.5", *WEATHER, *(f"wind {name}" for name in WINDS))
"""Of `City.x`."""


class City(NamedTuple):
    """One city's hours, in the file's order.

    Attributes:
        hour: (n,) hours since the beginning of 2010.
        x: (n, 13) `COLUMNS`; NaN where a value is missing.
    """

    hour: Int[Tensor, " n"]
    x: Float[Tensor, "n 13"]


class Forecast(NamedTuple):
    """Hours from which PM2.5 some hours later is to be predicted; nothing is missing.

    Attributes:
        x: (m, 13) `COLUMNS` at the hour.
        privileged: (m, T, 13) the same at hours in between, the earliest first.
        y: (m,) PM2.5 at the horizon.
        hour: (m,) hours since the beginning of 2010.
    """

    x: Float[Tensor, "m 13"]
    privileged: Float[Tensor, "m t 13"]
    y: Float[Tensor, " m"]
    hour: Int[Tensor, " m"]


def five_cities(folder: str | Path, cities: Sequence[str] = CITIES) -> dict[str, City]:
    """Read the published files, `BeijingPM20100101_20151231.csv` and so on.

    Args:
        folder: where they are.
        cities: which are wanted.

    Raises:
        FileNotFoundError: a folder without them, or without one of the cities.
        ValueError: an unknown city, files of another layout, or what is neither a number nor "NA".
    """
    for name in cities:
        check_one_of("cities", name, CITIES)
    found = {name: sorted(Path(folder).glob(f"{name}PM*.csv")) for name in cities}
    lacking = [name for name, files in found.items() if not files]
    if lacking:
        held = "none of the files" if len(lacking) == len(found) else f"no file of {', '.join(lacking)}"
        wanted = ", ".join(f"{name}PM*.csv" for name in lacking)
        raise FileNotFoundError(f"The folder should hold the published files {wanted}. Found {held} there. {WHERE}")
    return {name: _city(files[0]) for name, files in found.items()}


def _city(path: Path) -> City:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        wanted = {"year", "month", "day", "hour", STATION, "cbwd", *WEATHER}
        absent = sorted(wanted - set(reader.fieldnames or ()))
        if absent:
            raise ValueError(f"A file should have the published columns. Found no {', '.join(absent)} in {path.name}. {WHERE}")
        rows = [_row(row, path.name, line) for line, row in enumerate(reader, start=2)]
    if not rows:
        raise ValueError(f"A file should hold hours. Found no row in {path.name}. {WHERE}")
    return City(torch.tensor([hour for hour, _ in rows]), torch.tensor([values for _, values in rows]))


def _row(row: Mapping[str, str], name: str, line: int) -> tuple[int, list[float]]:
    year, month, day, hour = (int(_number(row, key, name, line)) for key in ("year", "month", "day", "hour"))
    since = (datetime.date(year, month, day) - datetime.date(2010, 1, 1)).days * 24 + hour
    wind = row["cbwd"]
    if wind not in (*WINDS, "NA"):
        raise ValueError(f"Winds should be {', '.join(WINDS)} or NA. Found {wind!r} in line {line} of {name}. {WHERE}")
    blown = [math.nan if wind == "NA" else float(wind == one) for one in WINDS]
    return since, [_number(row, STATION, name, line), *(_number(row, key, name, line) for key in WEATHER), *blown]


def _number(row: Mapping[str, str], key: str, name: str, line: int) -> float:
    text = row[key]
    if text == "NA":
        return math.nan
    try:
        return float(text)
    except (TypeError, ValueError):
        raise ValueError(
            f"Column {key!r} should hold numbers or NA. Found {text!r} in line {line} of {name}. {WHERE}"
        ) from None


def forecasts(city: City, horizon: int, between: Sequence[int] = ()) -> Forecast:
    """Return the hours of a city at which all that is needed is known: the hour, those in between, the horizon's PM2.5.

    Args:
        city: as read.
        horizon: hours ahead.
        between: how many hours ahead the privileged ones are, ascending; none by default.

    Raises:
        TypeError, ValueError: no whole hours, or privileged ones that are not before the horizon.
    """
    check_whole("horizon", horizon, 1)
    for ahead in between:
        check_whole("between", ahead, 1)
    if list(between) != sorted(set(between)) or (between and between[-1] >= horizon):
        raise ValueError(f"`between` should ascend and stay below the horizon of {horizon} hours. Found {tuple(between)}.")
    place = {int(hour): row for row, hour in enumerate(city.hour.tolist())}
    starts = torch.tensor(
        [[place.get(int(hour) + ahead, -1) for ahead in (0, *between, horizon)] for hour in city.hour.tolist()]
    )
    starts = starts[(starts >= 0).all(1)]
    seen, later = city.x[starts[:, :-1]], city.x[starts[:, -1], 0]
    known = seen.flatten(1).isfinite().all(1) & later.isfinite()
    return Forecast(seen[known, 0], seen[known, 1:], later[known], city.hour[starts[known, 0]])
