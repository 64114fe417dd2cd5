import json
import sys

import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill import (
    SGD,
    Distillation,
    Examples,
    Unrolling,
    load_student,
    load_teacher,
    read_card,
    save_student,
    save_teacher,
    settings_of,
    split_rows,
)
from mechlearn.distill.populations.members import Stacked


@pytest.mark.parametrize("kind", models.STUDENTS)
def test_a_student_alone_comes_back_from_its_file(kind, tmp_path):
    student, other = models.student(kind), models.student(kind, seed=5)
    x = models.randn(3, 4, 6)
    save_student(student, tmp_path / "student.safetensors")
    assert load_student(other, tmp_path / "student.safetensors") is other
    assert torch.equal(student.eval()(x), other.eval()(x))


def test_a_missing_extra_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(ImportError, match="pip install safetensors"):
        save_student(models.student("mlp"), tmp_path / "student.safetensors")


def test_a_card_says_how_it_was_made(tmp_path):
    student, teacher = models.student("mlp"), models.teacher({"0": (5,)})
    distillation = Distillation(
        models.lesson(student, teacher, ["0"], alpha=0.8),
        Examples(models.randn(0, 40, 6), models.randn(1, 40, 4), models.labels(2, 40)),
        split_rows(40, 0.3, models.generator(1)),
        Unrolling(SGD(0.1, 0.5), steps=2, batch_size=6),
        torch.optim.Adam(student.parameters(), lr=0.01),
        torch.optim.Adam(teacher.parameters(), 0.01),
        models.generator(),
    )
    path = tmp_path / "teacher.safetensors"
    save_teacher(teacher, path, settings_of(distillation) | {"model": {"width": 5}})
    card = read_card(path)
    assert (card.kind, card.made_of) == ("teacher", "mechlearn.distill.teachers.units.UnitsTeacher")
    assert card.settings["model"] == {"width": 5}
    assert card.settings["lesson"]["alpha"] == 0.8
    assert card.settings["lesson"]["layers"] == ["0"]
    assert card.settings["unrolling"]["inner"] == "SGD(lr=0.1, momentum=0.5, weight_decay=0.0, nesterov=False)"
    assert card.settings["split"] == {"training": 28, "validation": 12, "splitting": "fixed"}
    assert card.settings["student_optimizer"]["groups"][0]["lr"] == 0.01
    other = load_teacher(models.teacher({"0": (5,)}, seed=9), path)
    assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in teacher.state_dict().items())
    with pytest.raises(ValueError, match=r"should hold a student. Found a teacher .* with load_teacher"):
        load_student(other, path)


def saved(tmp_path):
    path = tmp_path / "student.safetensors"
    save_student(models.student("mlp"), path, {"a": 1})
    return path


def test_what_is_damaged_foreign_or_missing_is_refused(tmp_path):
    path, student = saved(tmp_path), models.student("mlp", 3)
    before = {name: tensor.clone() for name, tensor in student.state_dict().items()}
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    with pytest.raises(ValueError, match="another digest"):
        load_student(student, path)
    path.with_suffix(".json").unlink()
    with pytest.raises(ValueError, match="should be whole safetensors"):
        load_student(student, path)
    with pytest.raises(FileNotFoundError, match="Found none at"):
        read_card(path)
    with pytest.raises(FileNotFoundError, match="Found none at"):
        load_student(student, tmp_path / "other.safetensors")
    path.with_suffix(".json").write_text(json.dumps({"kind": "student"}))
    with pytest.raises(ValueError, match="A card should be JSON with kind"):
        load_student(student, path)
    path.with_suffix(".json").write_text("[")
    with pytest.raises(ValueError, match="A card should be JSON with kind"):
        read_card(path)
    assert all(torch.equal(tensor, before[name]) for name, tensor in student.state_dict().items())


def test_a_student_of_another_architecture_is_left_as_it_was(tmp_path):
    path = saved(tmp_path)
    other = models.filled(nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)), 2)
    before = {name: tensor.clone() for name, tensor in other.state_dict().items()}
    with pytest.raises(RuntimeError, match=r"size mismatch|Error"):
        load_student(other, path)
    assert all(torch.equal(tensor, before[name]) for name, tensor in other.state_dict().items())


def test_settings_that_no_card_can_hold_are_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "student.safetensors"
    for settings in ({"loss": models.label_loss}, {"rate": float("nan")}):
        with pytest.raises(TypeError, match=r"`settings` should be words, numbers"):
            save_student(models.student("mlp"), path, settings)
    assert not list(tmp_path.iterdir())


def test_files_with_a_dot_in_their_names_have_cards_of_their_own(tmp_path):
    for share in (0.1, 0.5):
        save_student(models.student("mlp", int(10 * share)), tmp_path / f"student-{share}", {"share": share})
    for share in (0.1, 0.5):
        assert read_card(tmp_path / f"student-{share}").settings == {"share": share}
        found = load_student(models.student("mlp", 7), tmp_path / f"student-{share}")
        wanted = models.student("mlp", int(10 * share)).state_dict()
        assert all(torch.equal(tensor, wanted[name]) for name, tensor in found.state_dict().items())
    save_teacher(models.teacher({"0": (5,)}), tmp_path / "a.pt")
    save_student(models.student("mlp"), tmp_path / "a.safetensors")
    load_student(models.student("mlp", 7), tmp_path / "a.safetensors")
    load_teacher(models.teacher({"0": (5,)}, seed=7), tmp_path / "a.pt")


def test_files_of_former_names_are_still_read(tmp_path):
    path = saved(tmp_path)
    path.rename(tmp_path / "student.pt")
    assert read_card(tmp_path / "student.pt").settings == {"a": 1}
    load_student(models.student("mlp", 7), tmp_path / "student.pt")
    with (tmp_path / "student.pt").open("ab") as file:
        file.write(b" ")
    with pytest.raises(ValueError, match="another digest"):
        load_student(models.student("mlp", 7), tmp_path / "student.pt")


def test_tensors_are_not_written_where_the_card_goes(tmp_path):
    path = tmp_path / "student.json"
    for call in (save_student, load_student):
        with pytest.raises(ValueError, match=r"which names a card\. Write .*student\.safetensors"):
            call(models.student("mlp"), path)
    assert not list(tmp_path.iterdir())


def test_a_student_of_a_stack_is_saved_and_read(tmp_path):
    students = [models.student("mlp", p) for p in range(2)]
    Stacked(models.lesson(students[0], models.teacher({"0": (5,)}), ["0"]), tuple(students), torch.optim.Adam)
    save_student(students[1], tmp_path / "student.safetensors")
    for other in (models.student("mlp", 7), students[0]):
        load_student(other, tmp_path / "student.safetensors")
        assert all(torch.equal(tensor, students[1].state_dict()[name]) for name, tensor in other.state_dict().items())


class Held(nn.Module):
    def __init__(self, buffer):
        super().__init__()
        self.register_buffer("held", buffer)


class Keeping(Held):
    """A module whose state is more than tensors."""

    def get_extra_state(self):
        return {"kept": 3}


@pytest.mark.parametrize(
    ("saved", "own"),
    [
        (torch.tensor([1.7, 2.9]), torch.zeros(2, dtype=torch.int64)),
        (torch.ones(2, dtype=torch.complex64), torch.zeros(2)),
        (torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float16)),
    ],
)
def test_tensors_of_other_types_are_not_converted_without_a_word(saved, own, tmp_path):
    path, student = tmp_path / "student.safetensors", Held(own)
    save_student(Held(saved), path)
    with pytest.raises(RuntimeError, match=rf"'held' as {saved.dtype} in .* and {own.dtype} in the student"):
        load_student(student, path)
    assert not student.held.any()
    assert torch.equal(load_student(Held(torch.zeros_like(saved)), path).held, saved)


def test_places_and_modules_that_no_file_has_are_refused_before_anything_is_written(tmp_path):
    student = models.student("mlp")
    with pytest.raises(FileNotFoundError, match=r"a folder that there is\. Found none at .*nowhere"):
        save_student(student, tmp_path / "nowhere" / "student.safetensors")
    (tmp_path / "student.safetensors").mkdir()
    with pytest.raises(IsADirectoryError, match="that of a file"):
        save_student(student, tmp_path / "student.safetensors")
    with pytest.raises(TypeError, match=r"should be tensors\. Found '_extra_state'"):
        save_student(Keeping(torch.zeros(2)), tmp_path / "other.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["student.safetensors"]
