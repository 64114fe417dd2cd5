"""Draws a thumbnail of each recorded experiment on worlds, vision and surfaces: `python docs/gallery/thumbnails.py`.

From rows: nothing is computed but the drawing, and records hold no pictures: after a new record, run it again. An experiment's
README that does not show its picture yet gets it, before "How to read it".
"""

from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from claimlab.drawing import house_style
from claimlab.experiment import load
from claimlab.running.run import Run
from claimlab.running.runfiles import find_runs
from claimlab.showing.evidence import recorded as when

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "packages" / "zoo" / "results"
FAMILIES = ("worlds", "vision", "surfaces")
CHOSEN = {
    "decoding": "reconstructions", "divide-and-conquer": "plans", "coordinates": "maps", "forward-models": "edges",
    "take-cover": "dream-strip",
}  # fmt: skip
"""Which of an experiment's figures; the first one where none is named or the rows lack it."""
BEFORE = "## How to read it"
WIDE, COLOURS = 640, 64
"""Pixels across, and colours of a picture."""


def recorded() -> dict[str, Run]:
    """Return the run of each experiment that is drawn: of the presets with all parts, paper and quick, the last recorded."""
    found: dict[str, Run] = {}
    for family in FAMILIES:
        latest = sorted(find_runs(RESULTS / family), key=when, reverse=True)
        for run in sorted(latest, key=lambda run: (run.recipe.preset not in ("paper", "quick"), bool(run.recipe.changed))):
            if not run.is_older:
                found.setdefault(run.recipe.name, run)
    return found


def thumbnail(run: Run) -> Figure:
    """Return an experiment's figure, drawn from a run's rows."""
    with house_style():
        figures = load(run.recipe.name, run.recipe.package).part_of(run.recipe.preset).figures(run.rows())
    still = {name: figure for name, figure in figures.items() if isinstance(figure, Figure)}
    return still.get(CHOSEN.get(run.recipe.name, ""), next(iter(still.values())))


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a small PNG."""
    with house_style():
        figure.savefig(path, dpi=WIDE / figure.get_figwidth(), facecolor="white", metadata={"Software": None})
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLOURS)
    small.save(path, optimize=True)


def shown(readme: str, name: str, title: str, caption: str) -> str:
    """Return an experiment's README with its picture, and the caption of the present figure below it."""
    link = f"](../../../../../docs/gallery/rows/{name}.png)"
    picture = f"![{title}{link}\n\n*{caption}*\n\n"
    if link in readme:
        start = readme.rindex("![", 0, readme.index(link))
        return readme[:start] + picture + readme[readme.index(BEFORE) :]
    return readme.replace(BEFORE, picture + BEFORE, 1)


def main() -> None:
    """Draw all, and write them into their READMEs."""
    mpl.use("Agg")
    (HERE / "rows").mkdir(exist_ok=True)
    for name, run in recorded().items():
        figure, experiment = thumbnail(run), load(name, run.recipe.package)
        save(figure, HERE / "rows" / f"{name}.png")
        spec = find_spec(experiment.run.__module__)
        readme = Path(str(spec.origin)).with_name("README.md") if spec else HERE
        text = readme.read_text(encoding="utf-8")
        readme.write_text(shown(text, name, experiment.title, str(figure.get_label())), encoding="utf-8")


if __name__ == "__main__":
    main()
