import sys

import pytest
import torch

import distill_models as models
from craik.distill import load_student, save_student


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
