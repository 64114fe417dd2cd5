"""A package of small experiments in a temporary folder, importable by this process and by the workers it starts."""

import sys
import textwrap
from pathlib import Path

import pytest

COUNTER = textwrap.dedent('''\
    """Counting: a walk that each seed starts elsewhere.

    More words that no listing shows.
    """
    import os
    import time
    from collections.abc import Iterator
    from dataclasses import dataclass
    from pathlib import Path
    from typing import Literal

    from craik.lab.claims import Claim, bootstrap
    from craik.lab.drawing import COLOURS, band, panels
    from {package}._shared import double

    REPRODUCES = "Figure 0 of no thesis."


    @dataclass(frozen=True)
    class Config:
        """Settings."""

        steps: int = 3
        """How many rows a seed yields."""

        shortcut_scale: float = 0.5
        """How far each step
        goes."""

        mode: Literal["plain", "nan", "raise", "die", "empty", "sleep", "object"] = "plain"
        """What happens in the last row of an odd seed."""

        widths: tuple[int, ...] = (4, 4)
        """Nothing."""

        limit: int | None = None
        """Also nothing."""

        flip: bool = False
        log: str = ""
        """A file that gets a line for each seed that runs."""

        seed: int = 0
        """First seed."""

        def __post_init__(self) -> None:
            if self.steps < 0:
                raise ValueError(f"steps must not be negative, but found {self.steps}; use 3")


    PRESETS = {"quick": Config(), "paper": Config(steps=6)}
    SEEDS = {"quick": 2, "paper": 4}


    def progress(config, row):
        return (row["step"] + 1) / config.steps, f"value {row['value']:.2f}"


    def run(config: Config) -> Iterator[dict]:
        if config.log:
            with Path(config.log).open("a") as file:
                file.write(f"{config.seed}\\n")
        odd = config.seed % 2 == 1
        if config.mode == "empty":
            return
        for step in range(config.steps):
            if odd and step == config.steps - 1:
                if config.mode == "raise":
                    raise RuntimeError("the walk fell off")
                if config.mode == "die":
                    os.kill(os.getpid(), 9)
                if config.mode == "sleep":
                    time.sleep(600)
            value = config.seed + double(config.shortcut_scale) * step
            if config.mode == "nan":
                value = float("nan")
            yield {"step": step, "value": value if config.mode != "object" else object()}


    def figures(rows):
        seeds = sorted({row["seed"] for row in rows})
        figure, (axes,) = panels(caption="A walk <of> some & seeds.")
        curves = [[row["value"] for row in rows if row["seed"] == seed] for seed in seeds]
        band(axes, range(len(curves[0])), curves, "walk", COLOURS["ours"])
        axes.legend()
        return {"walk": figure}


    def final(rows):
        last = {row["seed"]: row["value"] for row in rows}
        return bootstrap(list(last.values()))


    CLAIMS = (
        Claim("counter.high", "The walk <ends> high.", "figure 0", "about 1", final, lambda m: m.value > 1, "It exceeds 1."),
        Claim("counter.low", "It ends low & slow.", "table 0", None, final, lambda m: m.value < 0, "The median is negative.",
              tried="Smaller <steps>."),
        Claim("counter.far", "It ends far.", "table 1", "9", final, lambda m: True, "Always.", presets=("paper",)),
    )
    ''')


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a fresh package with the experiment `counter-walk`; its folder is `folder_of(package)`."""
    name = "fake_" + "".join(c if c.isalnum() else "_" for c in tmp_path.name) + f"_{abs(hash(str(tmp_path))) % 10**8}"
    folder = tmp_path / "source" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "_hidden.py").write_text('"""No experiment."""')
    (folder / "counter_walk.py").write_text(COUNTER.replace("{package}", name))
    (folder / "_shared").mkdir()
    (folder / "_shared" / "__init__.py").write_text("from .deep import double\n")
    (folder / "_shared" / "deep.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    yield name
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        del sys.modules[module]


def folder_of(package: str) -> Path:
    return next(Path(entry, package) for entry in sys.path if Path(entry, package).is_dir())
