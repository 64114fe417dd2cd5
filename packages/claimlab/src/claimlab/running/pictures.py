"""Pictures of a run: drawn from its rows, kept as SVG or GIF."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from claimlab.drawing import Animation, house_style
from claimlab.errors import LabError
from claimlab.experiment import Experiment
from claimlab.rows import Rows
from claimlab.running.run import Picture
from claimlab.running.storage import write_atomically


def svg(figure: Figure) -> bytes:
    """Return a figure as SVG; the same figure gives the same bytes on any day."""
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "claimlab"})
    return buffer.getvalue()


def drawn(experiment: Experiment[Any], rows: Rows) -> Iterator[tuple[Picture, bytes]]:
    """Yield an experiment's figures and animations, one at a time, each with the content of its file."""
    with house_style():
        pictures = dict[str, object](experiment.figures(rows))
    for name, picture in pictures.items():
        if isinstance(picture, Figure):
            caption = str(picture.get_label()) or name.replace("-", " ")
            yield Picture(name, f"figures/{name}.svg", caption), svg(picture)
        elif isinstance(picture, Animation):
            yield Picture(name, f"figures/{name}.gif", picture.caption), picture.gif
        else:
            rule = f"`figures` of {experiment.name} should return matplotlib Figures and Animations"
            raise LabError(f"{rule}. Found a {type(picture).__name__} for {name!r}. Draw it on panels().")


def draw(experiment: Experiment[Any], rows: Rows, folder: Path) -> list[Picture]:
    """Draw an experiment's figures and animations into `figures/` of a run's folder and remove those it no longer draws.

    Nothing is written before all are drawn: where one cannot be, the earlier ones stay beside their verdicts.
    """
    found = list(drawn(experiment, rows))
    pictures = [picture for picture, _ in found]
    for picture, content in found:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        write_atomically(folder / picture.file, content)
    for stale in {*folder.glob("figures/*.svg"), *folder.glob("figures/*.gif")} - {folder / one.file for one in pictures}:
        stale.unlink()
    return pictures
