"""Real processes killed at aimed and at random instants: the same command gives the rows of an undisturbed run, bit for bit.

``MECHLEARN_KILLS=1000`` (`make soak`) kills at as many random instants; CI kills at each kind of file once, and at a few more.
"""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from claimlab.running.runfiles import read_run
from fake_commands import wait_for
from fake_copies import undisturbed

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="finds processes in /proc, which is Linux's")

SOAK = int(os.environ.get("MECHLEARN_KILLS", "0"))

AIMED = [
    "worker after rename seed-0- 1",  # the first checkpoint is there
    "worker before rename seed-1- 2",  # between the one before and the last one: only the former is there
    "worker before rename .checkpoint.safetensors 5",
    "worker before sync .tmp 3",  # the checkpoint's bytes are half on disk
    "worker before sync .checkpoint.jsonl 2",  # rows are appended that no checkpoint counts yet
    "worker after sync .checkpoint.jsonl 4",
    "parent before sync .prepared 1",  # rows and settings are being written
    "parent before rename .prepared 1",  # they are written, and do not count yet
    "parent after rename .prepared 1",  # they count, and are not in their places
    "parent before rename rows.jsonl.gz 1",
    "parent after rename run.json 2",
    "parent before rename .prepared 3",  # verdicts
    "parent after rename .prepared 3",
]
"""Every kind of file is hit once, before or after it counts; see `faults` for the words."""


@pytest.fixture
def run(command, trainings, tmp_path):
    """Starts a run in `runs`, with a fault or without."""

    def _run(*words: str, fault: str = "") -> subprocess.Popen:
        options = ("--package", trainings, "--checkpoint-seconds", "0", "--jobs", "1", "--out", tmp_path / "runs")
        return command("run", *words, *options, MECHLEARN_FAULT=fault)

    return _run


def recorded(out: Path) -> dict[int, list[dict]]:
    """The rows of each seed without their time; of each, and of no other, run.json says where they were made."""
    (folder,) = (path.parent for path in out.rglob("run.json"))
    run = read_run(folder)
    assert set(run.seeds) == run.recorded().keys()
    return {seed: [{**row, "seconds": 0} for row in some] for seed, some in run.recorded().items()}


def leftovers(out: Path) -> list[str]:
    return [path.name for path in out.rglob("*") if "checkpoint" in path.name or "partial" in path.name or ".tmp" in path.name]


def in_session(leader: int) -> list[int]:
    """The living processes of a command: workers too."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[3]) == leader and words[0] != "Z":
            found.append(int(path.parent.name))
    return found


def ended(process) -> bool:
    """Whether a command has left no orphan."""
    return wait_for(lambda: not in_session(process.pid))


@pytest.fixture
def end(run, tmp_path):
    """Types a command again, to its end: the rows are those of an undisturbed run, and nothing else is left."""

    def _end(*words: str, wanted: dict[int, list[dict]]) -> str:
        process = run(*words)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert recorded(tmp_path / "runs") == wanted
        assert leftovers(tmp_path / "runs") == []
        return said

    return _end


def test_every_kind_of_file_survives_a_kill_at_it(run, end, trainings, tmp_path):
    words = ("walker", "--steps", "3")
    wanted = undisturbed(trainings, "walker", steps=3)
    hit = 0
    for fault in AIMED:
        process = run(*words, fault=fault)
        _, said = process.communicate(timeout=120)
        assert ended(process)
        assert "No command should end like this" not in said
        hit += process.returncode != 0
        if process.returncode == 0:  # it came to its end before the fault: begin a new run
            assert recorded(tmp_path / "runs") == wanted, fault
            (tmp_path / "runs").rename(tmp_path / f"done-{hit}-{AIMED.index(fault)}")
    end(*words, wanted=wanted)
    assert hit >= 8


def test_a_network_goes_on_bit_for_bit_after_a_kill(run, end, trainings):
    words = ("learner", "--epochs", "3", "--seeds", "1")
    wanted = undisturbed(trainings, "learner", seeds=1, epochs=3)
    process = run(*words, fault="worker before rename .checkpoint.safetensors 8")
    process.communicate(timeout=120)
    assert (process.returncode, ended(process)) == (1, True)
    assert "goes on from its checkpoint" in end(*words, wanted=wanted)


@pytest.mark.parametrize("name", ["walker", "learner"] if SOAK else ["walker"])
def test_random_kills_change_no_row(run, end, trainings, tmp_path, name):
    """Kills and stops at random instants, each after the run has gone on for a while."""
    words = (name, "--pause", "0.02")
    wanted = undisturbed(trainings, name)
    draw, kills, counts = random.Random(SOAK + 1), 0, {signal.SIGKILL: 0, signal.SIGTERM: 0}
    target, start = SOAK // 2 or 2, time.monotonic()
    while kills < target:
        process = run(*words)
        try:
            process.communicate(timeout=draw.uniform(0.3, 8.0 if name == "learner" else 3.0))
        except subprocess.TimeoutExpired:
            how = draw.choice(list(counts))
            process.send_signal(how)
            _, said = process.communicate(timeout=120)
            kills += process.returncode != 0
            counts[how] += process.returncode != 0
            if how == signal.SIGTERM and process.returncode == 143:
                assert "stopped by SIGTERM" in said
        assert ended(process)
        if process.returncode == 0:
            assert recorded(tmp_path / "runs") == wanted
            (tmp_path / "runs").rename(tmp_path / f"done-{kills}-{time.monotonic()}")
    end(*words, wanted=wanted)
    print(json.dumps({how.name: number for how, number in counts.items()}), f"{time.monotonic() - start:.0f} s")


def test_a_full_disk_stops_the_run_and_keeps_the_last_good_state(run, end, trainings):
    words = ("walker", "--steps", "3")
    wanted = undisturbed(trainings, "walker", steps=3)
    for fault in ("worker full sync .tmp 4", "worker full sync .checkpoint.jsonl 2", "parent full sync .prepared 2"):
        process = run(*words, fault=fault)
        out, said = process.communicate(timeout=120)
        assert (process.returncode, out) == (1, ""), fault
        assert "No space left on device" in said.splitlines()[-1]
        assert said.splitlines()[-1].startswith("claimlab: ")
        assert "Traceback" not in said
    end(*words, wanted=wanted)


def test_a_seed_that_does_not_yield_its_earlier_rows_again_is_refused(run, trainings, tmp_path):
    words = ("walker", "--forget", "true", "--seeds", "1")
    run(*words, fault="worker before rename seed-0- 8").communicate(timeout=120)
    process = run(*words)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "a seed that goes on must yield its earlier rows again, but row 0 has step" in said.splitlines()[-1]
