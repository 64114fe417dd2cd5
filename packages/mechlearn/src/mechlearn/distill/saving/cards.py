"""Cards: what a saved module is and how it was made, as JSON beside its tensors."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch

import mechlearn
from mechlearn.arguments import check_path
from mechlearn.distill.step import Distillation
from mechlearn.nn.saving import sha256, write_at_once

Settings = Mapping[str, Any]
"""Words, numbers, truth values, None, and lists and dictionaries of them, by name."""


@dataclass(frozen=True)
class Card:
    """What stands beside a saved module.

    Attributes:
        kind: "student" or "teacher".
        made_of: the module's class, for the reader; nothing is imported by it.
        sha256: of the file of tensors.
        settings: what was given to `save_student`.
        mechlearn: the version that saved it.
        torch: likewise.
    """

    kind: str
    made_of: str
    sha256: str
    settings: dict[str, Any]
    mechlearn: str = field(default_factory=lambda: mechlearn.__version__)
    torch: str = field(default_factory=lambda: str(torch.__version__))


def settings_of(distillation: Distillation) -> dict[str, Any]:
    """Return a distillation's settings as a card holds them: lesson, unrolling, sizes of the split, both optimisers.

    Modules are not described: add how to build yours, ``settings_of(distillation) | {"model": {"width": 8}}``.
    """
    lesson, unrolling, split = distillation.lesson, distillation.unrolling, distillation.split
    said = {name: getattr(lesson, name) for name in ("alpha", "alpha_relative_to", "teaching_loss", "label_loss", "hoisting")}
    optimizers = {"student_optimizer": distillation.student_optimizer, "meta_optimizer": distillation.meta_optimizer}
    return {
        "lesson": {"layers": list(lesson.layers), **{name: _plain(value) for name, value in said.items()}},
        "unrolling": {part.name: _plain(getattr(unrolling, part.name)) for part in fields(unrolling)},
        "split": {**{name: len(rows) for name, rows in split.rows().items()}, "splitting": split.splitting},
        **{name: _of_optimizer(optimizer) for name, optimizer in optimizers.items()},
    }


def _of_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    groups = [{key: _plain(value) for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    return {"class": type(optimizer).__name__, "groups": groups}


def _plain(value: object) -> object:
    """Return a setting as JSON knows it: numbers and words as they are, a function by its name, all else as it is written."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return getattr(value, "__qualname__", None) or repr(value)


def read_card(path: str | Path) -> Card:
    """Return the card beside a file that `save_student` or `save_teacher` wrote.

    Args:
        path: of the file of tensors, or of the card.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is no card.
    """
    check_path("path", path)
    file = Path(path) if Path(path).suffix == ".json" else found_card(Path(path))
    if not file.is_file():
        raise FileNotFoundError(f"A card should stand beside the tensors. Found none at {file}. Save the module anew.")
    try:
        said = json.loads(file.read_text("utf-8"))
        card = Card(**said)
        whole = all(isinstance(getattr(card, name), str) for name in ("kind", "made_of", "sha256", "mechlearn", "torch"))
        if not (whole and isinstance(said["settings"], dict)):
            raise TypeError("parts of other types")
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"A card should be JSON with {', '.join(part.name for part in fields(Card))}. Found {file}, of which this is said: "
            f"{error}. Save the module anew."
        ) from error
    return card


TENSORS = ".safetensors"


def card_path(path: Path) -> Path:
    """Return where the card of a file is written: ``a.json`` beside ``a.safetensors``, ``a.pt.json`` beside ``a.pt``."""
    return path.with_name(f"{path.name.removesuffix(TENSORS)}.json")


def found_card(path: Path) -> Path:
    """Return where the card of a file lies, or would lie.

    Files of other endings had cards with another name before: ``student-0.json`` beside ``student-0.5``, and beside
    ``student-0.1``, too. Such a card is read where there is no other.
    """
    card, former = card_path(path), path.with_suffix(".json")
    return former if not card.is_file() and former.is_file() else card


def check_tensors_path(path: Path) -> None:
    """Reject a file of tensors that its card would overwrite."""
    if path.suffix == ".json":
        raise ValueError(
            f"`path` should be that of the tensors. Found {path}, which names a card. Write {path.with_suffix(TENSORS)}."
        )


def write_card(card: Card, path: Path) -> None:
    """Write a card beside a file."""
    text = json.dumps(asdict(card), indent=2, sort_keys=True, allow_nan=False) + "\n"
    write_at_once(card_path(path), text.encode())


def checked(settings: Settings) -> dict[str, Any]:
    """Return settings as JSON gives them back."""
    try:
        found = json.loads(json.dumps(dict(settings), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(
            "`settings` should be words, numbers, truth values, None, and lists and dictionaries of them, by name. Found that "
            f"{error}. Write others as words."
        ) from error
    return found


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    return sha256(path.read_bytes())


def check_card(card: Card, kind: str, path: Path) -> None:
    """Reject a card of another kind, or of other tensors."""
    if card.kind != kind:
        raise ValueError(f"The file should hold a {kind}. Found a {card.kind} in {path}. Read it with load_{card.kind}.")
    if card.sha256 != digest(path):
        raise ValueError(
            f"A card should be of the tensors beside it. Found another digest at {path}: it was damaged, or replaced. Save the "
            f"{kind} anew, or remove the card."
        )
