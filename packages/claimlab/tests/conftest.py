import multiprocessing
import os
from unittest import mock

import pytest

from claimlab.running.workers import local
from fake_commands import asleep, command
from fake_copies import package, trainings

__all__ = ["asleep", "command", "package", "trainings"]


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
