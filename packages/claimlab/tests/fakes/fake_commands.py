"""Commands of claimlab in processes of their own, none of which outlives its test, even one that fails."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CODE = "import sys\n{before}\nfrom claimlab.cli import main\nsys.exit(main(sys.argv[1:]))"


@pytest.fixture
def command():
    """Starts one, in a session of its own: its words, what is run `before` it, and what its environment holds beside ours."""
    started = list[subprocess.Popen]()

    def _command(*words: object, before: str = "", **environment: str) -> subprocess.Popen:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
        called = [sys.executable, "-c", CODE.format(before=before), *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(called, env=environment, start_new_session=True, **pipes))
        return started[-1]

    yield _command
    for process in started:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
        process.communicate(timeout=60)  # closes its pipes: one that is left open fails whatever test comes next


@pytest.fixture
def asleep(command, package, tmp_path):
    """Starts a command whose seed 0 is recorded and whose seed 1 sleeps after two rows; gives it and the run's folder."""

    def _asleep(*words: str) -> tuple[subprocess.Popen, Path]:
        options = ("--package", package, "--out", tmp_path / "runs", "--mode", "sleep", "--jobs", "1")
        process = command("run", "counter-walk", *options, *words)

        def goes_on():
            assert process.poll() is None, process.communicate()

        wait_for(lambda: _rows(tmp_path) == 2, goes_on)
        return process, next(tmp_path.glob("runs/*/*"))

    return _asleep


def _rows(folder: Path) -> int:
    return max((len(path.read_text().splitlines()) for path in folder.glob("runs/*/*/seed-1.partial.jsonl")), default=0)


def full(*_):
    """What writes where the disk is full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def alive(pid):
    """Whether a process runs, of Linux."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition, still=lambda: None, seconds=60.0):
    """Waits until something holds, and gives what it is; `still` fails the test where it can no longer come."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"it did not come within {seconds:g} s"
        still()
        time.sleep(0.02)
    return found
