"""Writes the tables of numbers into the guides, from records: `python docs/tables/guides.py`, part of `make pages`.

docs/tables/guides.toml says what each cell shows. A cell is a text, or one of three:

- `{claim = "spirals.and-mask-accuracy"}`: the number of a claim, `part = 1` its second number, `verdict = true` its verdict;
- `{of = "accuracy", method = "mean"}`: a statistic over seeds of a column, in the rows that have these values. `less` or `over`
  holds the values of the rows that are subtracted or divided by. `mean = true` takes the mean instead of the median;
- `{bench = "agreement", workload = "mlp-34", method = "mechlearn"}`: a benchmark's ratio with its range, or its column `of`;
  `over` holds the values of the row that it is divided by.

What a table says at its own level (`run`, `of`, `mean`, ...) holds for each cell that does not say otherwise.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from claimlab import EachSeed, Rows
from claimlab.needs import among, weighed
from claimlab.running.run import Run
from claimlab.running.runfiles import read_run
from claimlab.showing.wording import SIGNS, number, spread

DOCS = Path(__file__).parents[1]
RESULTS = DOCS.parent / "packages" / "zoo" / "results"
OWN = {"run", "of", "mean", "claim", "part", "verdict", "less", "over", "bench"}
"""Words of a cell that name no column of its rows."""


def tables() -> list[dict[str, Any]]:
    """Return what guides.toml says."""
    return tomllib.loads((DOCS / "tables" / "guides.toml").read_text(encoding="utf-8"))["table"]


def printed(table: Mapping[str, Any]) -> str:
    """Return a table as Markdown."""
    head = table["head"]
    usual = {key: value for key, value in table.items() if key not in {"name", "page", "head", "rows"}}
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in table["rows"]:
        lines.append("| " + " | ".join(one if isinstance(one, str) else cell(usual | one) for one in row) + " |")
    return "\n".join(lines) + "\n"


def cell(wanted: Mapping[str, Any]) -> str:
    """Return what a cell shows."""
    if "bench" in wanted:
        return of_bench(wanted)
    if "claim" in wanted:
        return of_claim(wanted)
    return of_rows(wanted)


def of_claim(wanted: Mapping[str, Any]) -> str:
    """Return a claim's number or its verdict."""
    claims = {one.id: one for one in record(wanted["run"]).claims}
    if wanted["claim"] not in claims:
        raise LookupError(f"a cell should name a claim of {wanted['run']}. Found {wanted['claim']}. Correct guides.toml.")
    claim = weighed(claims[wanted["claim"]], among(claims.values()))
    if wanted.get("verdict"):
        return f"{SIGNS.get(claim.verdict, '')} {claim.verdict}".strip()
    found = claim.parts[wanted["part"]] if "part" in wanted else claim
    return shown(found.measured, found.low, found.high, found.n)


def of_rows(wanted: Mapping[str, Any]) -> str:
    """Return a statistic over seeds; of a seed's rows that fit, such as one per held-out site, the mean counts."""
    where = {key: value for key, value in wanted.items() if key not in OWN}
    other = wanted.get("less", wanted.get("over"))

    def mean(rows: Rows, values: Mapping[str, Any]) -> float | None:
        found = rows.where(**values)
        return float(np.mean(np.array([row[wanted["of"]] for row in found], dtype=float))) if found else None

    def of_seed(rows: Rows) -> float | None:
        one = mean(rows, where)
        if other is None or one is None:
            return one
        two = mean(rows, where | other)
        return None if two is None else one / two if "over" in wanted else one - two

    found = EachSeed(of_seed, np.mean if wanted.get("mean") else np.median)(record(wanted["run"]).rows())
    if found is None:
        raise LookupError(f"a cell should name rows of {wanted['run']}. Found none with {where}. Correct guides.toml.")
    return shown(found.value, found.low, found.high, found.n)


def shown(value: float | int | None, low: float | int | None, high: float | int | None, seeds: int) -> str:
    """Return a number with its interval, alone where there is none."""
    ends = "" if low == high and seeds == 1 else spread(low, high, seeds)
    return f"{number(value)} {ends}".strip()


def of_bench(wanted: Mapping[str, Any]) -> str:
    """Return a number of the newest row of a benchmark."""
    where = {key: value for key, value in wanted.items() if key not in OWN}
    text = (RESULTS / "bench" / f"{wanted['bench']}.jsonl").read_text(encoding="utf-8")

    def newest(where: Mapping[str, Any]) -> dict[str, Any]:
        rows = [row for row in map(json.loads, text.splitlines()) if where.items() <= row.items()]
        if not rows:
            raise LookupError(f"a cell should name a row of {wanted['bench']}.jsonl. Found {where}. Correct guides.toml.")
        return rows[-1]

    row, of = newest(where), wanted.get("of", "ratio")
    if "over" in wanted:
        return number(row[of] / newest(where | wanted["over"])[of])
    ends = f" [{number(row['low'])}, {number(row['high'])}]" if of == "ratio" else ""
    return f"{number(row[of])}{ends}"


@cache
def record(place: str) -> Run:
    """Return the recorded run that lies at FAMILY/NAME/PRESET."""
    (folder,) = RESULTS.glob(f"{place}-??????")
    return read_run(folder)


def page(path: Path) -> str:
    """Return a page with its tables in their places."""
    text = path.read_text(encoding="utf-8")
    for table in tables():
        if DOCS / table["page"] == path:
            start, end = f"<!-- {table['name']}: generated by `make pages`, do not edit -->", f"<!-- end of {table['name']} -->"
            marks = f"({re.escape(start)}\n).*?({re.escape(end)})"
            text, count = re.subn(
                marks, lambda found, table=table: f"{found[1]}\n{printed(table)}\n{found[2]}", text, flags=re.S
            )
            if count != 1:
                raise LookupError(f"{path} should have the marks of the table {table['name']} once. Found {count}. Add them.")
    return text


def paths() -> list[Path]:
    """Return the pages that have tables."""
    return sorted({DOCS / table["page"] for table in tables()})


if __name__ == "__main__":
    for each in paths():
        each.write_text(page(each), encoding="utf-8")
