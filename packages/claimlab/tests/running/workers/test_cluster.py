"""Runs and sweeps on a real cluster of two nodes, with workers killed while they train."""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import fake_commands
import ray_nodes
from claimlab.running.runfiles import find_runs
from fake_copies import undisturbed

pytestmark = [
    pytest.mark.extra("cluster", "ray"),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="finds processes in /proc, which is Linux's"),
]

PATIENCE = 200.0
"""Seconds until something that should come never comes; on a machine with other work, workers start slowly."""

wait_for = functools.partial(fake_commands.wait_for, seconds=PATIENCE)

ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"},
    "PYTHONPATH": os.pathsep.join([str(Path(ray_nodes.__file__).parent), *filter(None, sys.path)]),
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "120",  # a machine with other work starts slowly
}


@pytest.fixture(scope="module")
def address():
    """The cluster's; it is started once."""
    words = [sys.executable, ray_nodes.__file__]
    cluster = subprocess.Popen(words, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    late = threading.Timer(PATIENCE, cluster.kill)  # else what reads its first line would wait for ever
    late.start()
    line = next((line for line in cluster.stdout if line.startswith("address ")), "")
    late.cancel()
    try:
        assert line, f"the cluster did not start within {PATIENCE:g} s, or ended: see what it wrote to stderr"
        yield line.split()[1]
    finally:
        cluster.stdin.close()
        try:
            cluster.wait(timeout=PATIENCE)
        finally:
            cluster.kill()
            cluster.wait()
            cluster.stdout.close()


@pytest.fixture
def claimlab(command, monkeypatch):
    """Starts a command in a process of its own, which does not outlive the test."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return lambda *words: command(*words, **ENVIRONMENT)


def events(log: Path) -> list[dict]:
    """What a run has told of; the last line may be half-written."""
    whole = log.read_text().rpartition("\n")[0] if log.exists() else ""
    return [json.loads(line) for line in whole.splitlines()]


def workers(title: str) -> set[int]:
    """The processes that do the tasks of a name."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(f"ray::{title}".encode()):
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("every", [0, 20], ids=["goes on from its checkpoint", "begins at its first row"])
def test_a_seed_whose_worker_is_killed_is_begun_again(claimlab, address, tmp_path, every):
    words = ("run", "walker", "--package", "fake_trainings", "--pause", "0.3", "--steps", "4", "--seeds", "2")
    log = tmp_path / "log.jsonl"
    options = ("--on", f"ray:{address}", "--out", tmp_path / "runs", "--json-log", log, "--checkpoint-seconds", every)
    process = claimlab(*words, *options)

    def half_way():
        rows = max((one["rows"] for one in events(log) if one.get("seed") == 1), default=0)
        return rows >= 3 and [one["text"] for one in events(log) if one.get("seed") == 1 and "process" in one.get("text", "")]

    (told,) = wait_for(half_way)
    (pid,) = {int(told.rpartition(" ")[2])} & workers("walker seed 1")
    os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    (again,) = [one for one in events(log) if one["kind"] == "again"]
    assert again["text"].startswith("walker seed 1: its worker died, and another one runs on ")
    assert int(again["text"].rpartition(" ")[2]) != pid
    assert ("goes on from its checkpoint" in said) == (every == 0)
    (run,) = find_runs(tmp_path / "runs")
    found = {seed: [{**row, "seconds": 0} for row in rows] for seed, rows in run.recorded().items()}
    assert found == undisturbed("fake_trainings", "walker", steps=4)
    assert run.made[0].machine.threads in (None, 1)
    assert {path.name for path in run.folder.iterdir()} == {".lock", "claims.json", "rows.jsonl.gz", "run.json"}
    wait_for(lambda: not workers("walker"))


def test_a_sweep_ends_with_the_trials_of_one_machine_though_a_worker_is_killed(claimlab, address, tmp_path):
    words = ("sweep", "climb", "--package", "fake_sweeps", "--preset", "quick", "--pause", "0.6")
    words = (*words, "--trials", "2", "--seeds", "1", "--sampler", "random", "--pruner", "none", "--json")
    process = claimlab(*words, "--on", f"ray:{address}", "--out", tmp_path / "there")
    wait_for(lambda: [path for path in (tmp_path / "there").rglob("*.partial.jsonl") if path.stat().st_size])
    for pid in workers("climb"):
        os.kill(pid, signal.SIGKILL)
    out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert "its worker died, and another one runs on" in said
    there = json.loads(out)
    here = claimlab(*words, "--pause", "0", "--jobs", "2", "--out", tmp_path / "here")
    here = json.loads(here.communicate(timeout=PATIENCE)[0])

    def found(answer):
        return [(one["method"], one["complete"], one["failed"], one["best"]["chosen"], one["best"]["value"], one["fresh"]) for one in answer["methods"]]  # fmt: skip # noqa: E501

    assert found(there) == found(here)
    assert not [path for path in Path(tmp_path / "there").rglob("*") if "partial" in path.name or "checkpoint" in path.name]


def test_ctrl_c_ends_the_tasks(claimlab, address, tmp_path):
    words = ("run", "walker", "--package", "fake_trainings", "--pause", "5", "--seeds", "2")
    process = claimlab(*words, "--on", f"ray:{address}", "--out", tmp_path / "runs")
    wait_for(lambda: len(workers("walker seed")) == 2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("claimlab: stopped by Ctrl-C; 0 of 2 seeds are recorded")
    wait_for(lambda: not workers("walker"))


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("--gpus", "0.5"), 2, "Found --gpus 0.5, and no GPUs in the cluster. Lower it."),
        (("--cpus", "3"), 2, "Found --cpus 3, and at most 1 cores on a machine of the cluster"),
    ],
)
def test_a_cluster_that_has_less_than_is_wished(claimlab, address, tmp_path, words, status, sentence):
    process = claimlab("run", "walker", "--package", "fake_trainings", "--on", f"ray:{address}", "--out", tmp_path, *words)
    _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, sentence in said) == (status, True), said


def test_a_cluster_that_is_not_there(claimlab, tmp_path):
    process = claimlab("run", "walker", "--package", "fake_trainings", "--on", "ray:127.0.0.1:1", "--out", tmp_path)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "--on ray should find a cluster. Found none at 127.0.0.1:1" in said
    assert "ray start --head" in said
