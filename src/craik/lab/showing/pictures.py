"""Pictures of a run: drawn from its rows, saved as SVG or GIF."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from craik.lab.drawing import Animation, house_style
from craik.lab.errors import LabError
from craik.lab.experiment import Experiment
from craik.lab.rows import Rows
from craik.lab.running.storage import write_atomically


def save_svg(figure: Figure, path: Path) -> None:
    """Writes a figure atomically as SVG; the same figure gives the same bytes on any day."""
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "craik"})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, buffer.getvalue())


@dataclass(frozen=True)
class Picture:
    """A saved figure: its name, its file relative to the run's folder, its caption."""

    name: str
    file: str
    caption: str


def draw(experiment: Experiment[Any], rows: Rows, folder: Path) -> list[Picture]:
    """Draws an experiment's figures and animations into `figures/` of a run's folder and removes those it no longer draws.

    Raises:
        LabError: `figures` gave something else than figures and animations by name.
    """
    with house_style():
        drawn = experiment.figures(rows)
    pictures = [_save(experiment.name, name, picture, folder) for name, picture in drawn.items()]
    for stale in {*folder.glob("figures/*.svg"), *folder.glob("figures/*.gif")} - {folder / one.file for one in pictures}:
        stale.unlink()
    return pictures


def _save(experiment: str, name: str, picture: object, folder: Path) -> Picture:
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    if isinstance(picture, Figure):
        save_svg(picture, folder / f"figures/{name}.svg")
        return Picture(name, f"figures/{name}.svg", str(picture.get_label()) or name.replace("-", " "))
    if isinstance(picture, Animation):
        write_atomically(folder / f"figures/{name}.gif", picture.gif)
        return Picture(name, f"figures/{name}.gif", picture.caption)
    rule = f"figures of {experiment} must give matplotlib Figures and Animations"
    raise LabError(f"{rule}, but {name!r} is a {type(picture).__name__}; draw it on panels()")
