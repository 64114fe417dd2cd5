"""Claims from a table: a TOML file beside the measures, a table a claim.

```toml
["spirals.and-mask-accuracy"]
text = "The AND-mask solves the spirals."
source = "figure 3.6"
measure = "OverSeeds('accuracy', {'method': 'and-mask'})"
condition = "test accuracy at least 0.95"
```

`measure` is a call, or a name, of what the module of measures defines, of `OverSeeds`, `Paired` and `EachSeed`, of `partial`,
`mean` and `median`; its arguments are literals, such names and such calls. Instead of it `measures` has several by their words.
`stopped = true` asks the same where validation stops trainings early, `stopped = "..."` another measure. `presets` are those at
which the claim is measured, quick and paper if there are none. `needs` has `premises`, `placebos`, `controls` and `why`.
A claim without a `kind` is "ours" if its source starts so, else a text's.

A claim inside another, `["spirals.and-mask-accuracy"."spirals.wider"]`, is a cell of it and takes what it does not say itself
from it. So is one elsewhere in the file whose `cell_of` names the other. Others take it from the table `every`, if the file has
one. An empty text, list or table takes nothing: `needs = {}`.
"""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_args

import numpy as np

from claimlab.claims import Claim, EachSeed, Kind, Measure, Needs, OverSeeds, Paired, both_stopped
from claimlab.conditions import condition
from claimlab.errors import LabError

NAMES: Mapping[str, Any] = {
    "OverSeeds": OverSeeds,
    "Paired": Paired,
    "EachSeed": EachSeed,
    "partial": functools.partial,
    "mean": np.mean,
    "median": np.median,
}
"""What every table may name."""

TEXTS = ("text", "source", "printed", "kind", "measure", "condition", "tried", "cell_of", "why")
LISTS = ("presets", "unlooked", "earlier", "premises", "placebos", "controls")
NEEDS = {"premises", "placebos", "controls", "why"}
COLUMNS = {*TEXTS, *LISTS, "measures", "stopped", "needs"} - NEEDS
EVERY = "every"
"""The table of what a file's claims have in common."""


def claims_of(measures: ModuleType, file: str = "claims.toml") -> tuple[Claim, ...]:
    """Return the claims of a table that lies beside the module of their measures.

    Args:
        measures: the module.
        file: the table's name.

    Raises:
        LabError: if there is no such file, it is not TOML, or a claim lacks a column, has an unknown one, or names an unknown
            measure.
    """
    path = Path(str(measures.__file__)).with_name(file)
    try:
        tables: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LabError(f"Claims should be in a TOML file. Found {error} at {path}. Fix it.") from error
    for name, table in tables.items():
        if not isinstance(cast(object, table), dict):
            raise LabError(f"{path} should hold tables, one a claim. Found {name} = {table!r}. Put it under a header.")
    names = {**NAMES, **vars(measures)}
    return tuple(_claim(path, id_, columns, names) for id_, columns in _rows(path, tables))


def _rows(path: Path, tables: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each claim's id and its columns, with those that it takes from others."""
    every = tables.get(EVERY, {})
    for id_, table in tables.items():
        if id_ == EVERY:
            continue
        own, cells = _parted(table)
        if "cell_of" in own:
            first, _ = _parted(tables.get(own["cell_of"], own))
            if cells or "cell_of" in first:
                found = f"Found {own['cell_of']!r}. Name one."
                raise LabError(f"{id_} in {path} should be a cell of a claim of the file, and have none. {found}")
            own = first | own
        yield id_, every | own
        yield from ((name, every | own | cell | {"cell_of": id_}) for name, cell in cells.items())


def _parted(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return a claim's columns and its cells."""
    cells = {name: one for name, one in table.items() if "." in name and isinstance(one, dict)}
    return {name: one for name, one in table.items() if name not in cells}, cells


def _claim(path: Path, id_: str, columns: Mapping[str, Any], names: Mapping[str, Any]) -> Claim:
    _check(path, id_, columns)
    try:
        asked = condition(columns["condition"])
        measure = _measures(columns, names)
    except (KeyError, SyntaxError, TypeError, ValueError) as error:
        found = f"no {error}" if isinstance(error, KeyError) else error
        raise LabError(f"{id_} in {path} should have a condition and a measure. Found {found}. Fix it.") from error
    presets = tuple(columns.get("presets", ()))
    needs: dict[str, Any] = {name: value if name == "why" else tuple(value) for name, value in columns.get("needs", {}).items()}
    return Claim(
        id_,
        columns["text"],
        columns["source"],
        measure,
        asked.at(*presets) if presets else asked,
        printed=columns.get("printed") or None,
        kind=columns.get("kind", "ours" if columns["source"].startswith("ours") else "claim"),
        tried=columns.get("tried", ""),
        earlier=tuple(columns.get("earlier", ())),
        needs=Needs(**needs),
        cell_of=columns.get("cell_of"),
        unlooked=tuple(columns.get("unlooked", ())),
    )


def _check(path: Path, id_: str, columns: Mapping[str, Any]) -> None:
    needs = columns.get("needs", {})
    if not isinstance(needs, dict):
        raise LabError(f"{id_} in {path} should have a table of `needs`. Found {needs!r}. Write needs = {{premises = [...]}}.")
    inner = cast(dict[str, Any], needs)
    found = {**columns, **inner}
    strange = sorted({*columns} - COLUMNS | {*inner} - NEEDS)
    wrong = [name for name in TEXTS if not isinstance(found.get(name, ""), str)]
    texts = {name: found.get(name, []) for name in LISTS}
    wrong += [name for name, some in texts.items() if type(some) is not list or not all(isinstance(one, str) for one in some)]
    wrong += ["kind"] * (columns.get("kind", "claim") not in get_args(Kind))
    wrong += [name for name in ("text", "source") if not columns.get(name)]
    if strange or wrong:
        name = (*strange, *wrong)[0]
        what = f"a column {name!r}" if strange else f"{name} {found.get(name)!r}"
        raise LabError(f"{id_} in {path} should have text, source, measure and condition. Found {what}. Fix it.")


def _measures(columns: Mapping[str, Any], names: Mapping[str, Any]) -> Measure | dict[str, Measure]:
    if "measures" in columns:
        return {words: _measure(text, names) for words, text in columns["measures"].items()}
    measure, stopped = _measure(columns["measure"], names), columns.get("stopped")
    if not stopped:
        return measure
    return both_stopped(measure, None if stopped is True else _measure(stopped, names))


def _measure(text: str, names: Mapping[str, Any]) -> Measure:
    found = _value(ast.parse(text, mode="eval").body, names)
    if not callable(found):
        raise TypeError(f"a measure is a function of rows, not {found!r}")
    return cast(Measure, found)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:  # noqa: ANN401  # whatever a measure takes
    """Return what an expression of names, calls and literals gives."""
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"no measure is called {node.id!r}")
        return names[node.id]
    if isinstance(node, ast.Call):
        arguments = [_value(one, names) for one in node.args]
        return _value(node.func, names)(*arguments, **{str(one.arg): _value(one.value, names) for one in node.keywords})
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(one, names) for one in node.elts)
    if isinstance(node, ast.Dict):
        keys = [ast.literal_eval(one) for one in node.keys if one is not None]
        return dict(zip(keys, [_value(one, names) for one in node.values], strict=True))
    return ast.literal_eval(node)
