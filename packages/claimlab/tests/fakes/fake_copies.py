"""A copy of the fake experiments in a temporary folder, importable by this process and by the workers it starts."""

import dataclasses
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import fake_experiments
import fake_trainings
from claimlab.experiment import load
from claimlab.running.rowfiles import complete_row


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a fresh package with the experiments `counter-walk` and `drunkard`; its folder is `folder_of(package)`."""
    yield (name := copied(fake_experiments, tmp_path, monkeypatch))
    forget(name)


@pytest.fixture
def trainings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The same with `walker` and `learner`, whose loops are kept."""
    yield (name := copied(fake_trainings, tmp_path, monkeypatch))
    forget(name)


def copied(original: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    old = original.__name__
    name = old[:8] + "_" + "".join(c if c.isalnum() else "_" for c in tmp_path.name) + f"_{abs(hash(str(tmp_path))) % 10**8}"
    folder = tmp_path / "source" / name
    shutil.copytree(Path(original.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.rglob("*.py"):
        path.write_text(path.read_text().replace(old, name))
    monkeypatch.syspath_prepend(str(folder.parent))
    # What Python compiled before an edit of the same second and length would be taken for the edited file's.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return name


def forget(package: str) -> None:
    """Makes this process read the package's files again."""
    for module in [module for module in sys.modules if module.partition(".")[0] == package]:
        del sys.modules[module]


def undisturbed(package: str, name: str, seeds: int = 2, **settings) -> dict[int, list[dict]]:
    """The rows of a run that nobody kills, made in this process; they took no time."""
    experiment = load(name, package)
    config = dataclasses.replace(experiment.presets["quick"].config, **settings)
    configs = {seed: dataclasses.replace(config, seed=seed) for seed in range(seeds)}
    return {seed: [complete_row(row, seed, 0) for row in experiment.run(one)] for seed, one in configs.items()}


def folder_of(package: str) -> Path:
    return next(Path(entry, package) for entry in sys.path if Path(entry, package).is_dir())


def edit(package: str, file: str, old: str, new: str) -> None:
    """Edits a source file below `walks/`, and makes this process read it again."""
    path = folder_of(package) / "walks" / file
    assert old in path.read_text()
    later = path.stat().st_mtime + 2  # whoever has compiled it sees by the second that it changed
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, (later, later))
    forget(package)
