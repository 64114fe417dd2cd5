"""A trained student or teacher alone, in a file, with a card beside it that says what it is and how it was made.

The tensors are safetensors, the card is JSON: ``student.safetensors`` and ``student.json``; a file of another name has its card
under that name with ``.json`` behind it. Nothing of the teacher is needed
to serve a student; a teacher is kept to teach other students.
"""

import copy
import os
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor, nn

from mechlearn import arguments
from mechlearn.distill.saving.cards import (
    Card,
    Settings,
    card_path,
    check_card,
    check_tensors_path,
    checked,
    digest,
    found_card,
    read_card,
    write_card,
)
from mechlearn.nn.saving import safetensors


def save_student(student: nn.Module, path: str | Path, settings: Settings | None = None) -> None:
    """Write a student's parameters and buffers with safetensors, and a card beside them; tied tensors are written once.

    Args:
        student: what is saved; the teacher is not needed any more.
        path: of the file, such as ``student.safetensors``; an older one, and its card, are replaced.
        settings: of the card, such as the arguments that make the module again, and `settings_of` its distillation.

    Raises:
        ImportError: safetensors is not installed.
        TypeError: settings that JSON does not know, or a module whose state is more than tensors; nothing is written then.
        ValueError: a path that ends in ``.json``, as the card's does.
        FileNotFoundError, IsADirectoryError: a folder that is not there, or in the file's place.
    """
    _save("student", student, path, settings)


def save_teacher(teacher: nn.Module, path: str | Path, settings: Settings | None = None) -> None:
    """Write a teacher, as `save_student` a student: for other students, see `mechlearn.distill.teach`."""
    _save("teacher", teacher, path, settings)


def load_student(student: nn.Module, path: str | Path) -> nn.Module:
    """Read what `save_student` wrote into a student of the same architecture, and return it.

    Args:
        student: what is read into, in place. Its settings stand in ``read_card(path).settings``.
        path: of the file; a file without a card is read, too.

    Returns:
        The student.

    Raises:
        ImportError: safetensors is not installed.
        FileNotFoundError: there is no such file.
        ValueError: a file that is damaged, or a card of something else.
        RuntimeError: the file's tensors are not those of the student, or of other types; it is left as it was.
    """
    return _load("student", student, path)


def load_teacher(teacher: nn.Module, path: str | Path) -> nn.Module:
    """Read what `save_teacher` wrote, as `load_student` does."""
    return _load("teacher", teacher, path)


def _save(kind: str, module: nn.Module, path: str | Path, settings: Settings | None) -> None:
    arguments.check_kind(kind, module, nn.Module, "a torch.nn.Module")
    arguments.check_path("path", path)
    target, found = Path(path), checked(settings or {})
    check_tensors_path(target)
    _check_place(target)
    _check_tensors(kind, module)
    library, beside = safetensors("torch"), target.with_name(f"{target.name}.part")
    try:
        library.save_model(_whole(module), str(beside))
        card = Card(kind, f"{type(module).__module__}.{type(module).__qualname__}", digest(beside), found)
        card_path(target).unlink(missing_ok=True)  # an older card must not stand beside new tensors, whenever this is stopped
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
    write_card(card, target)


def _check_place(target: Path) -> None:
    """Reject a file in a folder that is not there, and one whose place a folder has."""
    if target.is_dir():
        raise IsADirectoryError(f"`path` should be that of a file. Found a folder at {target}. Name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"`path` should be in a folder that there is. Found none at {target.parent}. Make it, for example with "
            "Path.mkdir(parents=True)."
        )


def _check_tensors(kind: str, module: nn.Module) -> None:
    """Reject a module whose state a file of tensors does not hold."""
    others = [name for name, value in module.state_dict().items() if not isinstance(value, Tensor)]
    if others:
        raise TypeError(
            f"A {kind}'s state should be tensors. Found {others[0]!r}, which is none: a layer has get_extra_state. Save "
            "state_dict() with torch.save, or keep that in buffers or in `settings`."
        )


def _load(kind: str, module: nn.Module, path: str | Path) -> nn.Module:
    arguments.check_kind(kind, module, nn.Module, "a torch.nn.Module", way_out="Make one as it was saved.")
    arguments.check_path("path", path)
    target = Path(path)
    check_tensors_path(target)
    if not target.is_file():
        raise FileNotFoundError(f"A {kind} should be read from a file that there is. Found none at {target}. Look at its name.")
    if found_card(target).exists():
        check_card(read_card(target), kind, target)
    library = safetensors("torch")
    try:
        tensors = library.load_file(str(target))
    except Exception as error:
        raise ValueError(f"A {kind}'s file should be whole safetensors. Found {error} in {target}. Save it anew.") from error
    _check_types(kind, module, tensors, target)
    # Read into a copy first: safetensors fills tensor by tensor, and may meet one of another shape half way.
    read = copy.deepcopy(module)
    try:
        library.load_model(read, str(target))
    except RuntimeError as error:  # torch's, on names and shapes
        found = " ".join(str(error).split()).rstrip(".")
        raise RuntimeError(
            f"A {kind} should have the tensors of its file. Found {found}, in {target}. Make it as it was saved."
        ) from error
    module.load_state_dict(read.state_dict())
    return module


def _check_types(kind: str, module: nn.Module, tensors: Mapping[str, Tensor], target: Path) -> None:
    """Reject tensors of another type than the module's, which would be rounded, cut off or overflow without a word."""
    for name, own in module.state_dict().items():
        found = tensors.get(name)
        if found is not None and isinstance(own, Tensor) and found.dtype != own.dtype:
            raise RuntimeError(
                f"A {kind}'s tensors should be of the types of its file's. Found {name!r} as {found.dtype} in {target} and "
                f"{own.dtype} in the {kind}. Make it as it was saved, with .to({found.dtype}) for floating numbers; convert it "
                "afterwards."
            )


def _whole(module: nn.Module) -> nn.Module:
    """Return the module, or a copy whose tensors have memory of their own where its are parts of larger ones, as in a stack."""
    tensors = [*module.parameters(), *module.buffers()]
    parts = any(tensor.untyped_storage().nbytes() > tensor.numel() * tensor.element_size() for tensor in tensors)
    return copy.deepcopy(module) if parts else module
