"""`mechlearn predict`: what a model that `mechlearn fit` kept says of a table."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from mechlearn.cli.common import OUT, UsageError, as_cell, ensure_file, helped, print_json, refuse, shown, whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mechlearn.tables.saving import Model, Stepping

SENTENCE = "predict with a model that mechlearn fit kept"
"""What the command does."""

KEPT = ("card.json", "weights.safetensors", "estimator.skops")
"""A model's files."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.usage = "mechlearn predict MODEL FILE [--keep COLUMN ...] [--steps N] [--out FILE]"
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", type=Path, help="the folder with card.json and weights.safetensors"
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="a table with the columns trained on; more do no harm"
    )
    parser.add_argument(
        "--keep", metavar="COLUMN", action="append", default=[], help="a column to write beside its rows' predictions, as a key"
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
        raise UsageError(
            "mechlearn predict should be given a model and a table. Found less. Run: mechlearn predict FOLDER/model data.csv"
        )
    if options.steps is not None and options.steps < 1:
        raise UsageError(
            f"A prediction should take a step at least. Found --steps {options.steps}. Leave it out for those that were judged."
        )
    _check_kept(options.model)
    _check_out(options)
    from mechlearn.tables.saving import Model, load  # noqa: PLC0415  # needed from here on only

    try:
        model, far = load(options.model), Counter[str]()
        if isinstance(model, Model):
            if options.steps is not None:
                raise ValueError("--steps should come with a model of trajectories. Found one of a table. Leave it out.")
            rows = _rows(model, options.file, list(dict.fromkeys(options.keep)), far)
        else:
            if options.keep:
                raise ValueError("--keep should come with a model of a table. Found one of trajectories. Leave it out.")
            rows = _states(model, options.file, options.steps)
        listed = _given(rows, options)
        if isinstance(model, Model):
            _explain(model)
            _doubt(far)
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(str(error)) from error
    if options.json:
        out = shown(options.out) if options.out else None
        names, *rows = listed
        predictions = [dict(zip(map(str, names), row, strict=True)) for row in rows]
        print_json({"rows": len(rows), "out": out, "predictions": predictions})
    return 0


def _check_kept(folder: Path) -> None:
    """Reject what `mechlearn fit` did not write."""
    if (folder / "card.json").exists():
        return
    inner = folder / "model"  # of the folder that `mechlearn fit --out` names
    way_out = f"Name {inner}." if (inner / "card.json").exists() else f"mechlearn fit keeps one in {OUT}/fit-FILE/model."
    found = f"{folder} holds no card.json" if folder.is_dir() else f"{folder} is no folder"
    raise UsageError(f"A model should be a folder with the card.json that mechlearn fit wrote. Found that {found}. {way_out}")


def _check_out(options: argparse.Namespace) -> None:
    """Refuse to write over what is read."""
    if options.out is None:
        return
    read = {options.file: "the table", **{options.model / name: "a file of the model" for name in KEPT}}
    for path, what in read.items():
        if path.resolve() == options.out.resolve() or (options.out.exists() and path.exists() and path.samefile(options.out)):
            raise UsageError(f"--out should name a file of its own. Found {what}, {shown(path)}. Name another.")


@contextmanager
def _replacing(path: Path) -> Generator[TextIO, None, None]:
    """A file beside the one named, which takes its place when all is written; until then, and without that, nothing changes.

    What is no file, such as /dev/stdout, is written to as it is.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("w", newline="", encoding="utf-8") as file:
            yield file
        return
    target = path.resolve()  # a link stays one
    ensure_file(target)
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w", newline="", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _given(rows: Iterator[list[object]], options: argparse.Namespace) -> list[list[object]]:
    """Write rows as they come, so that a large table passes through; give them back where JSON asks for all at once."""
    first = next(rows)  # what cannot be read at all is refused before a file is opened
    if options.json and options.out is None:
        return [first, *rows]
    kept: list[list[object]] = []
    formulas = 0
    with nullcontext(sys.stdout) if options.out is None else _replacing(options.out) as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in chain([first], rows):
            written = [as_cell(value, options.out is None and file.isatty()) for value in row]
            formulas += sum(str(one).startswith("'") and one != other for one, other in zip(written, row, strict=True))
            writer.writerow(written)
            if options.json:
                kept.append(row)
    if formulas:
        print(f"{formulas} texts that a spreadsheet would take for formulas have an apostrophe in front.", file=sys.stderr)
    return kept


def _rows(model: Model, path: Path, keep: Sequence[str], far: Counter[str]) -> Iterator[list[object]]:
    """Names, then a row for each of the table's: the columns to keep as they are there, and what is predicted.

    Counts in `far` the rows in which a column is far from all that was trained on.
    """
    from mechlearn.tables.reading import read_batches  # noqa: PLC0415

    texts = {column.name for column in model.encoding.columns if column.categories is not None}
    numbers = {column.name for column in model.encoding.columns if column.categories is None}
    pieces = read_batches(path, {*texts, *keep} - numbers, numbers=numbers, raw={*keep} - numbers)
    first = next(pieces, None)
    if first is None:
        raise ValueError(f"A table should have rows. Found none in {path.name}.")
    names, rows = _names(model, keep, first), _said(model, first, keep)
    far.update(model.far(first))
    yield names
    yield from rows
    for piece in pieces:
        yield from _said(model, piece, keep)
        far.update(model.far(piece))


def _said(model: Model, piece: Mapping[str, NDArray[Any]], keep: Sequence[str]) -> list[list[object]]:
    from mechlearn.tables.reading import RAW  # noqa: PLC0415

    outputs = model.outputs(piece)
    beside = list(zip(*(_cells(piece.get(RAW + name, piece[name])) for name in keep), strict=True)) or [()] * len(outputs)
    if model.classes is None:
        return [[*kept, float(output[0])] for kept, output in zip(beside, outputs, strict=True)]
    each, classes = zip(beside, outputs.tolist(), model.places(outputs), strict=True), model.classes
    return [[*kept, classes[int(place)], *(round(value, 6) for value in output)] for kept, output, place in each]


def _names(model: Model, keep: Sequence[str], piece: Mapping[str, NDArray[Any]]) -> list[object]:
    from mechlearn.tables.reading_in import nearest  # noqa: PLC0415

    for name in keep:
        if name not in piece:
            raise ValueError(f"--keep should name a column of the table. Found no {name!r}. {nearest(name, piece)}")
    target = str(model.facts.get("target", "prediction"))
    predicted = f"predicted {target}" if target in keep else target
    names = [*keep, predicted, *(f"{model.word} of {label}" for label in model.classes or ())]
    twice = [name for name in keep if names.count(name) > 1]
    if twice:
        raise ValueError(f"What is written should have names of its own. Found {twice[0]!r} twice. Leave its --keep out.")
    return [*names]


def _cells(values: NDArray[Any]) -> Iterator[object]:
    """A column's cells as they are written; a missing one is empty."""
    from mechlearn.tables.reading_in import is_missing, plain  # noqa: PLC0415

    return (None if gone else plain(value) for value, gone in zip(values, is_missing(values), strict=True))


def _explain(model: Model) -> None:
    """Say beside the predictions where they are cut: what is predicted need not be what is likeliest."""
    if model.shares is not None:
        place = min(range(len(model.shares)), key=model.shares.__getitem__)
        label, share = (model.classes or ())[place], 100 * model.shares[place]
        print(
            f"Predictions are cut at the classes' shares in training: a row predicted to be {label} ({share:.1f} % there) may "
            f"have a {model.word} of it below a half.",
            file=sys.stderr,
        )


def _doubt(far: Mapping[str, int]) -> None:
    """Say which columns are so far from what was trained on that their unit is perhaps another one."""
    from mechlearn.tables.reading_in import listed  # noqa: PLC0415
    from mechlearn.tables.saving.models import FAR  # noqa: PLC0415

    if far:
        columns = listed([f"{name} ({count} rows)" for name, count in far.items()])
        print(
            f"Values of {columns} are more than {FAR:g} standard deviations from the mean trained on: look whether units "
            "are the same, and empty codes for missing.",
            file=sys.stderr,
        )


def _states(model: Stepping, path: Path, steps: int | None) -> Iterator[list[object]]:
    """Each row of the table is a state to start from; a step skips as many frames as it does on average."""
    from mechlearn.tables.reading import read_batches  # noqa: PLC0415

    yield ["start", "step", "frames ahead", *model.names]
    start = 0
    for piece in read_batches(path, numbers=model.names):
        for way in model.states(piece, int(model.facts["steps"]) if steps is None else steps):
            for step, state in enumerate(way, 1):
                yield [start, step, round(step * float(model.facts["skip"]), 2), *(float(value) for value in state)]
            start += 1
