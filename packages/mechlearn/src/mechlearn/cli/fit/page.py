"""The answer of `mechlearn fit` as one HTML file: the audit first, then the candidates on held-out sites, then what to do."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from mechlearn.cli.common import plain

KINDS = {"helps": "yes", "harms": "no", "as good": "open", "cannot tell": "open"}
"""The verdict's colour; the word always stands beside it."""

ABSENT = "features held_out others sites site_names votes privileged apart code classes differences counts calibration"
"""Facts that not every question has."""


def answer_page(facts: Mapping[str, Any]) -> str:
    """Return the HTML of an answer, plain values of which the absent ones are not shown."""
    differences = facts.get("differences", {})
    reach = max([2.5, *(abs(value) for value in differences.values())]) * 1.2
    dots = [(name, value, 50 + 50 * value / reach) for name, value in differences.items()]
    ends = (50 - 50 * 2 / reach, 100 * 2 / reach)
    scatter = _scatter(facts["calibration"], bool(facts.get("classes"))) if facts.get("calibration") else None
    drawn = {"dots": dots, "ends": ends, "kinds": KINDS, "scatter": scatter, "percents": percents}
    places = "%.3f" if facts.get("counts") else "%.1f"
    return template("answer.html.jinja").render({**dict.fromkeys(ABSENT.split()), "places": places, **facts, **drawn})


@functools.cache
def template(name: str) -> jinja2.Template:
    """Return a template of the folder `templates`, which escapes what it is given; `number` and `signed` are its filters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mechlearn.cli.fit", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_seen,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = environment.filters
    filters.update(number=number, signed=signed)
    return environment.get_template(name)


def _seen(value: object) -> object:
    """A text without what a browser would obey; what a filter or the template has made is not touched."""
    return plain(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def signed(value: float, places: int) -> str:
    """Return a number with its sign, and 0 without one.

    >>> signed(0.0514, 3), signed(-0.0002, 3)
    ('+0.051', '0.000')
    """
    text = f"{value:+.{places}f}"
    return text[1:] if float(text) == 0 else text


def number(value: float) -> str:
    """Return three digits that matter.

    >>> number(0.98765), number(999.6), number(12345.6), number(0.0000123)
    ('0.988', '1,000', '12,346', '1.23e-05')
    """
    text = f"{value:.3g}"
    return f"{value:,.0f}" if abs(float(text)) >= 1000 else text


def percents(shares: Sequence[float]) -> list[int]:
    """Shares that make 1 as whole numbers that make 100: those that lose most by rounding down are rounded up."""
    down = [math.floor(100 * share + 1e-9) for share in shares]
    lost = sorted(range(len(shares)), key=lambda place: down[place] - 100 * shares[place])
    return [one + (place in lost[: 100 - sum(down)]) for place, one in enumerate(down)]


def _scatter(calibration: Mapping[str, Any], classes: bool) -> dict[str, Any]:
    """Places of sites and of the curve in a square from (50, 270) to (340, 10); shares from 0 to 1."""
    sites = [(one["name"], one["said"], one["found"]) for one in calibration["sites"]]
    numbers = [value for _, *pair in sites for value in pair] + [value for pair in calibration["curve"] for value in pair]
    low, high = (0.0, 1.0) if classes else (min(numbers), max(numbers))
    width = (high - low) or 1.0

    def place(said: float, found: float) -> tuple[float, float]:
        return 50 + 290 * (said - low) / width, 270 - 260 * (found - low) / width

    return {
        "sites": [(name, *place(said, found)) for name, said, found in sites],
        "curve": [place(said, found) for said, found in calibration["curve"]],
        "low": f"{low:.3g}",
        "high": f"{high:.3g}",
    }
