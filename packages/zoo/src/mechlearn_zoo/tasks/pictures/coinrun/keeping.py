"""Experts as files: written, read, and trained where there is none yet."""

from __future__ import annotations

import pickle
from pathlib import Path

import torch

from mechlearn_zoo.tasks.pictures.coinrun.collecting import Say
from mechlearn_zoo.tasks.pictures.coinrun.errors import CollectorError
from mechlearn_zoo.tasks.pictures.coinrun.expert import Expert, train
from mechlearn_zoo.tasks.pictures.coinrun.ppo import Training, make_policy, stable_baselines3


def save(expert: Expert, path: Path) -> None:
    """Write an expert to a file; the old content or the new, never half."""
    temporary = path.with_name(f".{path.name}.tmp")
    state = {"state": expert.policy.state_dict(), "steps": expert.steps, "seconds": expert.seconds}
    torch.save({**state, "mean_return": expert.mean_return}, temporary)
    temporary.replace(path)


def load(path: Path) -> Expert:
    """Read an expert from a file that `save` wrote.

    Raises:
        CollectorError: there is no such file, or it holds something else.
    """
    sb3 = stable_baselines3()
    try:
        found = torch.load(path, weights_only=True)
        policy = make_policy(sb3)
        policy.load_state_dict(found["state"])
        policy.set_training_mode(False)
        return Expert(policy, found["steps"], found["seconds"], found["mean_return"])
    except (OSError, LookupError, RuntimeError, TypeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CollectorError(
            f"An expert should be a file that mechlearn coinrun wrote. Found that {path} is not ({reason}). Name another."
        ) from error


def obtain(python: Path, training: Training, path: Path | None, further: bool, say: Say) -> Expert:
    """Return the expert of a file; where there is none, or it shall be trained on, train and keep it there as it goes.

    Args:
        python: an interpreter that can import Procgen.
        training: how to train.
        path: of the file; None trains from scratch and keeps nothing.
        further: train the expert that is there on, instead of using it as it is.
        say: told of the training's progress.

    Raises:
        CollectorError: the file holds something else, stable-baselines3 is missing, or the simulator ends.
    """
    start = load(path) if path is not None and path.exists() else None
    if start is not None and not further:
        return start
    before = 0 if start is None else start.steps

    def on_progress(steps: int, mean: float | None) -> None:
        known = "" if mean is None else f", mean return {mean:.1f} of 10"
        say(f"expert: {steps:,} steps{known}", (steps - before) / training.steps)

    def keep(expert: Expert) -> None:
        if path is not None:
            save(expert, path)

    expert = train(python, training, on_progress, start, keep)
    keep(expert)
    return expert
