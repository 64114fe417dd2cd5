"""Behavioural cloning: what an expert saw on many levels and how likely it took each action, in memory and as a file.

Source: thesis section 3.3.3 and appendix B.2.6. A level is an environment; training levels are few, validation and test
levels are many, with one state each, and no level is in two parts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float32, Int64, UInt8
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

FORMAT = "mechlearn cloning 1"
"""Stands in every file; a change of the layout changes it."""


class States(NamedTuple):
    """n states s with the expert's pi*(a | s) over A actions.

    Attributes:
        frames: images, channels last.
        policy: probabilities, each row adding up to 1.
        levels: the number of the level that each comes from.
    """

    frames: UInt8[Tensor, "n h w c"]
    policy: Float32[Tensor, "n A"]
    levels: Int64[Tensor, " n"]


class Recording(NamedTuple):
    """Three disjoint sets of levels, and in words how they were recorded."""

    train: States
    validation: States
    test: States
    about: dict[str, str]


def write(recording: Recording, path: Path) -> None:
    """Write a recording to one file, atomically: the old content or the new, never half.

    Raises:
        FileNotFoundError: no such folder.
        TypeError: frames that are no bytes.
        ValueError: parts that share a level, or policies that are no probabilities.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"A recording is written into a folder. Found none at {path.parent}. Make it first.")
    for states in recording[:3]:
        if states.frames.dtype != torch.uint8:
            raise TypeError(f"Frames should be bytes, 0 to 255. Found {states.frames.dtype}. Convert them to torch.uint8.")
    problem = _problem(recording)
    if problem:
        raise ValueError(problem)
    names = ("train", "validation", "test")
    tensors = {
        f"{name}.{field}": value.contiguous() for name in names for field, value in getattr(recording, name)._asdict().items()
    }
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        save_file(tensors, temporary, metadata={**recording.about, "format": FORMAT})
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> Recording:
    """Read a recording.

    Raises:
        ValueError: there is no such file, it is damaged, or it holds something else.
    """
    try:
        with safe_open(path, framework="pt") as file:
            about: Mapping[str, str] = file.metadata() or {}
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
        if about.get("format") != FORMAT:
            raise ValueError(f"its format is {about.get('format', 'not stated')!r}, not {FORMAT!r}")
        parts = (
            States(**{field: tensors[f"{name}.{field}"] for field in States._fields})
            for name in ("train", "validation", "test")
        )
        recording = Recording(*parts, about={key: value for key, value in about.items() if key != "format"})
        problem = _problem(recording)
        if problem:
            raise ValueError(problem)
    except Exception as error:  # safetensors raises an exception type of its own, the file system others
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"A recording should be a file that `mechlearn coinrun collect` wrote. Found {path}: {reason}. Collect it anew, or "
            "name another file."
        ) from error
    return recording


def described(about: Mapping[str, str]) -> str:
    """What a recording is, in a line: the game, and of a trained expert how long it was trained and what it returned."""
    source = about.get("source", "unknown")
    if "expert_steps" not in about:
        return source
    expert = f"{about.get('expert', 'expert')}, {int(about['expert_steps']):,} steps"
    return f"{source}, {about.get('mode', 'unknown')} levels (expert: {expert}, mean return {about['expert_return']} of 10)"


def _problem(recording: Recording) -> str:
    parts = {"train": recording.train, "validation": recording.validation, "test": recording.test}
    levels = [set(states.levels.tolist()) for states in parts.values()]
    if sum(map(len, levels)) != len(set().union(*levels)):
        return "Parts of a recording should not share levels. Found some that do; collect with another seed."
    for name, states in parts.items():
        if not len(states.frames) == len(states.policy) == len(states.levels) > 0:
            return f"Every state should have a frame, a policy and a level. Found {len(states.frames)} frames in {name}."
        total = states.policy.sum(dim=1)
        if bool((states.policy < 0).any()):
            return f"Each policy should have no negative probability. Found {states.policy.min().item():g} in {name}."
        if not bool(((total - 1).abs() < 1e-3).all()):
            return f"Each policy should add up to 1. Found {total[(total - 1).abs().argmax()].item():g} in {name}."
    return ""


def by_level(states: States) -> list[Int64[Tensor, " m"]]:
    """The positions of each level's states, levels in ascending order."""
    return [torch.nonzero(states.levels == level)[:, 0] for level in states.levels.unique()]
