"""Rollouts of Gymnasium's MuJoCo environments under random actions, collected by several processes.

Each example has a generator of its own, made from the seed, its stream and its number, so that the numbers of
processes and of examples change no example. The simulation runs in child processes whose working folder is temporary:
MuJoCo writes its warnings into a file of the current folder, and that is not the user's.

Source: thesis appendix C.2.2.1.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Environment = Literal["Swimmer", "Walker2d", "Hopper", "HalfCheetah"]
AliveBonus = Literal["always", "while-healthy"]

ENVIRONMENTS: tuple[Environment, ...] = ("Swimmer", "Walker2d", "Hopper", "HalfCheetah")
VERSION = "v5"
"""The newest version of the environments in Gymnasium; the seeds used -v2."""

STEPS = 16
WARM_UP = (10, 30)
"""Steps of an example, and the least and greatest number of random steps before its state is recorded."""

_FALLS: frozenset[str] = frozenset({"Walker2d", "Hopper"})
_PIECE = 100


class Job(NamedTuple):
    """The examples ``first`` to ``last`` (exclusive) of one stream."""

    environment: str
    alive_bonus: str
    seed: int
    stream: int
    first: int
    last: int


def make_environment(environment: str, alive_bonus: str) -> Any:  # noqa: ANN401 # gymnasium is optional: no type to name
    """Return an environment that goes on whatever happens, without Gymnasium's wrappers.

    Args:
        environment: "Swimmer", "Walker2d", "Hopper" or "HalfCheetah".
        alive_bonus: "always" pays the bonus of Walker2d and Hopper at every step, as -v2 did; "while-healthy" as v5
            does, only while the body is in its healthy range.

    Raises:
        ImportError: gymnasium, mujoco or imageio is not installed.
    """
    _require()
    import gymnasium  # noqa: PLC0415 # an optional dependency

    options = {"terminate_when_unhealthy": False} if environment in _FALLS else {}
    if environment in _FALLS and alive_bonus == "always":
        options["healthy_reward"] = 0.0  # a constant moves no quantile; see `simulate`
    return gymnasium.make(f"{environment}-{VERSION}", **options).unwrapped


def _require() -> None:
    missing = [name for name in ("gymnasium", "mujoco", "imageio") if find_spec(name) is None]
    if missing:
        found = " and no ".join(missing)
        raise ImportError(
            f"The MuJoCo task needs gymnasium, mujoco and imageio. Found no {found}. Install craik[experiments], "
            "or gymnasium[mujoco]."
        )


def simulate(env: Any, job: Job, number: int) -> tuple[NDArray[np.float64], ...]:  # noqa: ANN401 # as above
    """Return state (s,), actions (16, a), next states (16, s), rewards (16,) and whether it was healthy throughout (1,)."""
    generator = np.random.default_rng([job.seed, job.stream, number])
    state, _ = env.reset(seed=int(generator.integers(2**31)))
    warm_up = int(generator.integers(WARM_UP[0], WARM_UP[1] + 1))
    actions = generator.integers(-1, 2, size=(warm_up + STEPS, env.action_space.shape[0])).astype(np.float64)
    healthy = True
    for action in actions[:warm_up]:
        state, *_ = env.step(action)
        healthy = healthy and bool(getattr(env, "is_healthy", True))
    states: list[NDArray[np.float64]] = []
    rewards: list[float] = []
    for action in actions[warm_up:]:
        following, reward, *_ = env.step(action)
        states.append(following)
        rewards.append(float(reward) + (1.0 if job.environment in _FALLS and job.alive_bonus == "always" else 0.0))
        healthy = healthy and bool(getattr(env, "is_healthy", True))
    return state, actions[warm_up:], np.stack(states), np.array(rewards), np.array([float(healthy)])


def progress_line(label: str, width: int = 30) -> Callable[[int, int], None]:
    """Return a progress bar on standard error, for `collect`; it says nothing where that is no terminal."""

    def show(done: int, count: int) -> None:
        if sys.stderr.isatty():
            full = round(width * done / count)
            end = "\n" if done >= count else ""
            print(f"\rsimulating {label}  [{'#' * full:<{width}}] {done}/{count}", end=end, file=sys.stderr, flush=True)

    return show


_FILE, _ERRORS = "examples.npz", "errors.txt"
_NAMES = ("state", "actions", "states", "rewards", "healthy")


def collect(
    environment: Environment,
    alive_bonus: AliveBonus,
    seed: int,
    stream: int,
    count: int,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Collect the first examples of a stream.

    Args:
        environment: which of the four.
        alive_bonus: see `make_environment`.
        seed: of every example, together with its stream and number.
        stream: which independent sequence of examples.
        count: number of examples.
        processes: how many simulate at once; None is one a processor core. It changes no example.
        progress: called with the number of examples done and ``count``.

    Raises:
        ImportError: gymnasium, mujoco or imageio is not installed.
        RuntimeError: a process failed.
    """
    _require()
    workers = min(processes or _cores(), -(-count // _PIECE))
    bounds = np.linspace(0, count, workers + 1).round().astype(int).tolist()
    jobs = [Job(environment, alive_bonus, seed, stream, first, last) for first, last in pairwise(bounds)]
    with tempfile.TemporaryDirectory(prefix="craik-") as name:
        folders = [Path(name) / str(place) for place in range(workers)]
        children = [_start(job, folder) for job, folder in zip(jobs, folders, strict=True)]
        try:
            _listen(children, count, progress)
            for child, folder in zip(children, folders, strict=True):
                if child.wait() != 0:
                    raise RuntimeError(_reason(child, folder))
        finally:
            for child in children:
                child.kill()
                child.communicate()  # waits for its end and closes the pipe
        parts = [_load(folder / _FILE) for folder in folders]
    return {name: np.concatenate([part[name] for part in parts]) for name in _NAMES}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start(job: Job, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir()
    # The child must find what this process finds, wherever it runs.
    paths = os.pathsep.join(str(Path(path or ".").absolute()) for path in sys.path)
    command = [sys.executable, "-m", "craik.tasks.mujoco_rollouts", json.dumps(job)]
    environment = {**os.environ, "PYTHONPATH": paths}
    with (folder / _ERRORS).open("w") as errors:
        return subprocess.Popen(command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=errors)


def _listen(children: Sequence[subprocess.Popen[str]], count: int, progress: Callable[[int, int], None] | None) -> None:
    """Read how far the children are, in turn: they are equally far, so one's line stands for all."""
    done = 0
    streams: list[IO[str]] = [child.stdout for child in children if child.stdout]
    while streams:
        for stream in list(streams):
            line = stream.readline()
            if not line:
                streams.remove(stream)
            elif line.startswith("done "):  # MuJoCo prints, too
                done += int(line.split()[1])
        if progress:
            progress(done, count)


def _reason(child: subprocess.Popen[str], folder: Path) -> str:
    said = (folder / _ERRORS).read_text().strip().splitlines() or ["nothing on standard error"]
    return f"A process that simulates should end with status 0. Found {child.returncode}, and: {said[-1]}"


def _load(path: Path) -> dict[str, NDArray[np.float64]]:
    with np.load(path) as file:
        return {name: file[name] for name in _NAMES}


def main(text: str) -> None:
    """Simulate one job into ``examples.npz`` of the current folder; tell on standard output how many are done."""
    job = Job(*json.loads(text))
    env = make_environment(job.environment, job.alive_bonus)
    rows: list[tuple[NDArray[np.float64], ...]] = []
    for number in range(job.first, job.last):
        rows.append(simulate(env, job, number))
        if len(rows) % _PIECE == 0:
            print("done", _PIECE, flush=True)
    arrays = {name: np.stack(column) for name, column in zip(_NAMES, zip(*rows, strict=True), strict=True)}
    np.savez(Path(_FILE), allow_pickle=False, **arrays)
    print("done", len(rows) % _PIECE, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
