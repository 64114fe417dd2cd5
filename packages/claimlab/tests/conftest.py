import multiprocessing
import os
from unittest import mock

import pytest

from claimlab import cli
from claimlab.experiment import load
from claimlab.running.execute import execute
from claimlab.running.plan import plan
from claimlab.running.workers import local
from fake_commands import asleep, command
from fake_copies import package, trainings
from fake_hill import here, hill

__all__ = ["asleep", "command", "here", "hill", "package", "trainings"]


@pytest.fixture
def claimlab(package, tmp_path, monkeypatch, capsys):
    """Runs a command in an empty folder and gives its exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def _claimlab(*words: str):
        searches = words[:1] in (("run",), ("list",), ("verify",)) or "--pages" in words
        where = ("--package", package) if searches and "--package" not in words else ()
        status = cli.main([*words, *where])
        return status, *capsys.readouterr()

    return _claimlab


@pytest.fixture
def run(package, tmp_path):
    """Runs the counting walk, or another experiment, in `runs`; what is told of the last run stands in `run.events`."""

    def _run(preset="quick", seeds=2, jobs=2, keep_older=False, name="counter-walk", **overrides):
        _run.events = []
        planned = plan(load(name, package), preset, overrides, seeds, package)
        return execute(planned, planned.folder(tmp_path / "runs"), jobs, _run.events.append, keep_older)

    return _run


@pytest.fixture
def record(package, tmp_path):
    """Runs an experiment on two seeds and keeps it among the records of `results`."""

    def _record(name="counter-walk", preset="quick", **overrides):
        planned = plan(load(name, package), preset, overrides, 2, package)
        return execute(planned, planned.record(tmp_path / "results"))

    return _record


@pytest.fixture(scope="session")
def served():
    """A server whose forks have claimlab imported, and none of the experiments, which tests edit."""
    if "forkserver" not in multiprocessing.get_all_start_methods():  # Windows
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["claimlab.running.execute"])
    with mock.patch.dict(os.environ, PYTHONDONTWRITEBYTECODE="1"):
        multiprocessing.forkserver.ensure_running()
    return context


@pytest.fixture(autouse=True)
def workers_are_forked(served, monkeypatch):
    """Fork the workers that this process starts: a fresh one imports claimlab for most of a second. Commands start such."""
    monkeypatch.setattr(local.multiprocessing, "get_context", lambda method: served)
