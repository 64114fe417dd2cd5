"""`craik predict`: what a model that `craik fit` kept says of a table."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from craik.cli.answers import print_json, shown
from craik.cli.options import OUT, helped, refuse
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
    _check_kept(options.model)
    from craik.estimators.saving import Model, load  # noqa: PLC0415  # needed from here on only

    try:
        model = load(options.model)
        if isinstance(model, Model):
            if options.steps is not None:
                raise ValueError("--steps is for a model of trajectories, but found one of a table; leave it out")
            rows = _rows(model, options.file)
        else:
            rows = _states(model, options.file, options.steps)
        listed = _given(rows, options)
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(str(error)) from error
    if options.json:
        out = shown(options.out) if options.out else None
        print_json({"rows": len(listed) - 1, "out": out, "predictions": _listed(listed)})
    return 0


def _check_kept(folder: Path) -> None:
    """Refuse what `craik fit` did not write."""
    if (folder / "card.json").exists():
        return
    inner = folder / "model"  # of the folder that `craik fit --out` names
    way_out = f"name {inner}" if (inner / "card.json").exists() else f"craik fit keeps one in {OUT}/fit-FILE/model"
    found = f"{folder} holds no card.json" if folder.is_dir() else f"{folder} is no folder"
    raise UsageError(f"a model is a folder with the card.json that craik fit wrote, but {found}; {way_out}")


def _given(rows: Iterator[list[object]], options: argparse.Namespace) -> list[list[object]]:
    """Write rows as they come, so that a large table passes through; give them back where JSON asks for all at once."""
    first = next(rows)  # what cannot be read is refused before a file is opened
    if options.json and options.out is None:
        return [first, *rows]
    kept: list[list[object]] = []
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="", encoding="utf-8") if options.out else nullcontext(sys.stdout) as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in chain([first], rows):
            writer.writerow(row)
            if options.json:
                kept.append(row)
    return kept


def _rows(model: Model, path: Path) -> Iterator[list[object]]:
    from craik.estimators.reading import read_batches  # noqa: PLC0415

    texts = {column.name for column in model.encoding.columns if column.categories is not None}
    pieces = (model.outputs(piece) for piece in read_batches(path, texts))
    first = next(pieces, None)
    if first is None:
        raise ValueError(f"A table should have rows. Found none in {path.name}.")
    target, classes = str(model.facts.get("target", "prediction")), model.classes
    word = "probability" if model.scores == "probabilities" else "score"
    yield [target, *(f"{word} of {label}" for label in classes or ())]
    for outputs in chain([first], pieces):
        for row in outputs:
            numbers = [round(float(value), 6) for value in row]
            yield [float(row[0])] if classes is None else [classes[int(row.argmax())], *numbers]


def _states(model: Stepping, path: Path, steps: int | None) -> Iterator[list[object]]:
    """Each row of the table is a state to start from; a step skips as many frames as it does on average."""
    from craik.estimators.reading import read_table  # noqa: PLC0415

    states = model.states(read_table(path), steps if steps else int(model.facts["steps"]))
    yield ["start", "step", "frames ahead", *model.names]
    for start, way in enumerate(states):
        for step, state in enumerate(way, 1):
            yield [start, step, round(step * float(model.facts["skip"]), 2), *(float(value) for value in state)]


def _listed(rows: Sequence[Sequence[object]]) -> list[dict[str, object]]:
    names = [str(name) for name in rows[0]]
    return [dict(zip(names, row, strict=True)) for row in rows[1:]]
