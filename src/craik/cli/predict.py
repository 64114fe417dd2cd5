"""`craik predict`: what a model that `craik fit` kept says of a table."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from craik.cli.answers import print_json, shown
from craik.cli.options import helped, refuse
from craik.lab.errors import UsageError
from craik.lab.values import whole_number

if TYPE_CHECKING:
    from craik.estimators.saving import Model, Stepping

SENTENCE = "predict with a model that craik fit kept"
"""What the command does."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.usage = "craik predict MODEL FILE [--steps N] [--out FILE]"
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", type=Path, help="the folder with card.json and weights.safetensors"
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="a table with the columns trained on; more do no harm"
    )
    parser.add_argument(
        "--steps", metavar="N", type=whole_number, help="of a model of trajectories; as many as were judged if not said"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="a .csv file for the predictions; the terminal if not said")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Reads a model and a table, and writes a prediction a row."""
    if helped(options):
        return 0
    refuse(rest)
    if options.model is None or options.file is None:
        raise UsageError("craik predict needs a model and a table, but found less; craik predict runs/fit-data/model data.csv")
    from craik.estimators.reading import read_table  # noqa: PLC0415  # needed from here on only
    from craik.estimators.saving import Model, load  # noqa: PLC0415

    try:
        model = load(options.model)
        table = read_table(options.file)
        if isinstance(model, Model):
            if options.steps is not None:
                raise ValueError("--steps is for a model of trajectories, but found one of a table; leave it out")
            rows = list(_rows(model, table))
        else:
            rows = list(_states(model, table, options.steps))
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(str(error)) from error
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with options.out.open("w", newline="", encoding="utf-8") as file:
            _write(rows, file)
    if options.json:
        print_json({"rows": len(rows) - 1, "out": shown(options.out) if options.out else None, "predictions": _listed(rows)})
    elif options.out is None:
        _write(rows, sys.stdout)
    return 0


def _rows(model: Model, table: Any) -> Iterator[list[object]]:  # noqa: ANN401  # columns by name
    outputs = model.outputs(table)
    target = str(model.facts.get("target", "prediction"))
    classes = model.classes
    if classes is None:
        yield [target]
        for value in outputs[:, 0]:
            yield [float(value)]
        return
    word = "probability" if model.scores == "probabilities" else "score"
    yield [target, *(f"{word} of {label}" for label in classes)]
    for row in outputs:
        yield [classes[int(row.argmax())], *(round(float(value), 6) for value in row)]


def _states(model: Stepping, table: Any, steps: int | None) -> Iterator[list[object]]:  # noqa: ANN401  # columns by name
    """Each row of the table is a state to start from; a step skips as many frames as it does on average."""
    states = model.states(table, steps if steps else int(model.facts["steps"]))
    yield ["start", "step", "frames ahead", *model.names]
    for start, path in enumerate(states):
        for step, state in enumerate(path, 1):
            yield [start, step, round(step * float(model.facts["skip"]), 2), *(float(value) for value in state)]


def _write(rows: Sequence[Sequence[object]], file: Any) -> None:  # noqa: ANN401  # a text file
    csv.writer(file, lineterminator="\n").writerows(rows)


def _listed(rows: Sequence[Sequence[object]]) -> list[dict[str, object]]:
    names = [str(name) for name in rows[0]]
    return [dict(zip(names, row, strict=True)) for row in rows[1:]]
