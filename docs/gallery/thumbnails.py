"""Draws the picture of each experiment's page: `python docs/gallery/thumbnails.py [NAME ...]`, all without a name.

From recorded rows: nothing is computed but the drawing, and records hold no pictures. After a new record, run it again.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from claimlab.drawing import house_style
from claimlab.experiment import load
from claimlab.running.run import Run
from claimlab.running.runfiles import find_runs

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "packages" / "zoo" / "results"
WIDE, COLOURS = 640, 256
"""Pixels across, and colours of a picture: fewer make two lines of a figure alike."""


class Choice(NamedTuple):
    """Which of an experiment's figures, by its name, from which preset's record (with changed settings); None: the first."""

    figure: str | None = None
    preset: str | None = None
    changed: bool = False


CHOSEN = {
    "cockpit-sources": Choice(preset="large"),
    "coinrun": Choice(preset="finalists"),
    "captions": Choice("painted", "small"),
    "captions-attention": Choice("attention", "longer"),
    "coordinates": Choice("maps"),
    "crar-mazes": Choice("depth", "quick", changed=True),
    "crar-rooms": Choice("rooms", "rooms"),
    "decoding": Choice("reconstructions", "contrast"),
    "distill-ablations": Choice("outcomes"),
    "distill-mujoco": Choice(preset="quick", changed=True),
    "distill-xor": Choice("heat-maps-selected"),
    "divide-and-conquer": Choice("plans"),
    "entropy-landscape": Choice("shares"),
    "forward-learner": Choice("rewards", "policies"),
    "forward-models": Choice("accuracy", "longer"),
    "grammar": Choice(preset="english"),
    "loss-surface": Choice("findings"),
    "max-trap": Choice("trap"),
    "one-shot-film": Choice("film"),
    "own-data-cities": Choice("privileged", "quick"),
    "own-data-privileged": Choice(preset="forms"),
    "particle-language": Choice("three"),
    "particle-words": Choice("language", "quick"),
    "poisoning": Choice(preset="small-steps"),
    "promp-corners": Choice("curves", "quick"),
    "promp-credit": Choice("credit", "credit"),
    "promp-estimators": Choice("estimators", "estimators"),
    "reprogramming": Choice("residual", "residual"),
    "seqgan": Choice("rounds", "seqgan"),
    "skips-accuracy": Choice(preset="epochs"),
    "skips-curve": Choice(preset="paper"),
    "skips-perturbation": Choice(preset="control"),
    "skips-timeline": Choice("balls"),
    "social-dilemmas": Choice("box", "box"),
    "spiral-environments": Choice(preset="quick"),
    "spirals-baselines": Choice(preset="data-sets"),
    "take-cover": Choice("returns", "quick"),
    "take-cover-dream": Choice("dream-strip", "quick"),
    "take-cover-fog": Choice("memory", "fog"),
    "two-rooms": Choice("states", "lamps"),
    "two-rooms-scores": Choice("scores", "lamps"),
}
"""Where another figure, or that of another preset than paper or quick, shows the finding."""
SECOND = {
    "crar-rooms": "crar-mazes",
    "captions-attention": "captions",
    "forward-learner": "forward-models",
    "max-trap": "max-chain",
    "one-shot-film": "one-shot-towers",
    "particle-words": "particle-language",
    "promp-credit": "promp-corners",
    "promp-estimators": "promp-corners",
    "seqgan": "temperature-sweep",
    "take-cover-dream": "take-cover",
    "take-cover-fog": "take-cover",
    "two-rooms-scores": "two-rooms",
}
"""Second pictures, of pages with two findings of two records, and their experiments."""


def recorded() -> dict[str, Run]:
    """Return the run that each picture is drawn from, by the picture's name: its experiment's, or that of a second one."""
    found: dict[str, Run] = {}
    runs = [run for run in find_runs(RESULTS) if not run.is_older]
    for run in sorted(runs, key=lambda run: (run.recipe.preset not in ("paper", "quick"), bool(run.recipe.changed))):
        for name in (run.recipe.name, *(second for second, first in SECOND.items() if first == run.recipe.name)):
            wanted = CHOSEN.get(name, Choice())
            if wanted.preset in (None, run.recipe.preset) and (not wanted.changed or run.recipe.changed):
                found.setdefault(name, run)
    return found


def thumbnail(run: Run, name: str | None = None) -> Figure:
    """Return an experiment's figure, drawn from a run's rows; `name` is that of a second picture."""
    with house_style():
        figures = load(run.recipe.name, run.recipe.package).part_of(run.recipe.preset).figures(run.rows())
    still = {name: figure for name, figure in figures.items() if isinstance(figure, Figure)}
    return still.get(CHOSEN.get(name or run.recipe.name, Choice()).figure or "", next(iter(still.values())))


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a small PNG."""
    with house_style():
        figure.savefig(path, dpi=WIDE / figure.get_figwidth(), facecolor="white", metadata={"Software": None})
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    small.save(path, optimize=True)


def main(names: list[str]) -> None:
    """Draw those of some experiments, or all."""
    mpl.use("Agg")
    (HERE / "rows").mkdir(exist_ok=True)
    for name, run in recorded().items():
        if not names or name in names:
            save(thumbnail(run, name), HERE / "rows" / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
