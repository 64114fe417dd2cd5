"""CoinRun's levels, played many at once in the simulator's own process."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int32, UInt8
from numpy.typing import DTypeLike, NDArray

from mechlearn_zoo.tasks.pictures.coinrun.errors import CollectorError

ACTIONS = 15
"""Procgen's actions: nine directions, no key among them, and six buttons that do nothing in this game."""

FRAME = (64, 64, 3)
"""Height, width, RGB."""


class Observation(NamedTuple):
    """What n games show after a step.

    Attributes:
        rewards: of the step that was taken; 10 for the coin, else 0.
        begins: whether the frame is an episode's first, so that the rewards closed the one before.
        levels: each frame's level number.
        frames: height, width, RGB.
    """

    rewards: Float32[np.ndarray, " n"]
    begins: Bool[np.ndarray, " n"]
    levels: Int32[np.ndarray, " n"]
    frames: UInt8[np.ndarray, "n 64 64 3"]


class Levels:
    """`games` games over `levels` levels from number `start` on; a context manager that ends its process.

    Args:
        python: an interpreter that can import Procgen.
        games: how many are played at once.
        levels: how many levels there are, 0 for all (2**31).
        start: the first level's number.
        mode: Procgen's difficulty, "easy" or "hard".
        seed: decides the order in which levels come.

    Raises:
        CollectorError: the interpreter cannot be run, or the simulator ends.
    """

    def __init__(self, python: Path, games: int, levels: int, start: int = 0, mode: str = "easy", seed: int = 0) -> None:
        self.games = games
        script = Path(__file__).with_name("simulator.py")
        options = {"num": games, "levels": levels, "start": start, "mode": mode, "seed": seed}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        # -I: neither PYTHONPATH nor this folder, so that nothing of this Python's packages gets into that one
        pipe, command = subprocess.PIPE, [str(python), "-I", str(script), *words]
        try:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise CollectorError(
                f"The simulator should be run by a Python. Found that {python} cannot be run ({error.strerror}). Name another."
            ) from error
        try:
            self._observation = self._read()
        except BaseException:
            self.close()
            raise

    def observe(self) -> Observation:
        """What the games show now."""
        return self._observation

    def step(self, actions: Int32[np.ndarray, " n"]) -> Observation:
        """Take one action in every game; a game that ends begins its next level at once.

        Raises:
            CollectorError: the simulator's process has ended.
            ValueError: more or fewer actions than games.
        """
        moves = np.ascontiguousarray(actions, dtype=np.int32)
        if moves.shape != (self.games,):  # the simulator would wait for the rest
            raise ValueError(f"`actions` should be one a game, of shape {(self.games,)}. Found the shape {moves.shape}.")
        try:
            stdin = _pipe(self._process.stdin)
            stdin.write(moves.tobytes())
            stdin.flush()
        except BrokenPipeError:
            raise self._obituary() from None
        self._observation = self._read()
        return self._observation

    def close(self) -> None:
        """End the simulator's process."""
        with contextlib.suppress(BrokenPipeError):  # what is still to be written when it has ended already
            _pipe(self._process.stdin).close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()
        _pipe(self._process.stderr).close()

    def __enter__(self) -> Levels:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def _read(self) -> Observation:
        n = self.games
        rewards, begins = self._array(np.float32, (n,)), self._array(np.uint8, (n,))
        return Observation(rewards, begins.astype(bool), self._array(np.int32, (n,)), self._array(np.uint8, (n, *FRAME)))

    def _array(self, kind: DTypeLike, shape: tuple[int, ...]) -> NDArray[np.generic]:
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        data = _pipe(self._process.stdout).read(size)
        if len(data) < size:
            raise self._obituary()
        return np.frombuffer(data, dtype=kind).reshape(shape)

    def _obituary(self) -> CollectorError:
        said = _pipe(self._process.stderr).read().decode(errors="replace").strip().splitlines()
        last = said[-1] if said else "no word of explanation"
        return CollectorError(f"The simulator should run as long as it is asked. Found an end: {last}. Run it again.")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:  # cannot be: all three are pipes
        raise CollectorError("The simulator should be reached through pipes. Found none. Start it again.")
    return stream
