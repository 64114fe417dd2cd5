import hashlib
import io
import os
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from mechlearn_zoo.tasks.pictures.cifar import ARCHIVES, Archive, cifar10


def batches(count=6, size=4):
    generator = np.random.default_rng(0)
    return [(generator.integers(0, 256, (size, 3072), dtype=np.uint8), generator.integers(0, 10, size)) for _ in range(count)]


def write(folder, kind, contents, name=None):
    """Write an archive with these files and return what the loader should ask of it."""
    model = next(archive for archive in ARCHIVES if kind in archive.name)
    path = folder / model.name
    with tarfile.open(path, "w:gz") as tar:
        for member, content in zip(model.members, contents, strict=False):
            info = tarfile.TarInfo(name or member)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path, Archive(model.name, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest(), model.members)


def python_content(x, y):
    # Protocol 2 with bytes for keys, as the published files have.
    return pickle.dumps({b"data": x, b"labels": y.tolist(), b"batch_label": b"one"}, protocol=2)


def binary_content(x, y):
    return b"".join(bytes([label]) + row.tobytes() for row, label in zip(x, y, strict=True))


CONTENTS = {"python": python_content, "binary": binary_content}


@pytest.mark.parametrize("kind", CONTENTS)
def test_both_archives_give_the_same_images(tmp_path, kind):
    parts = batches()
    _, archive = write(tmp_path, kind, [CONTENTS[kind](*part) for part in parts])
    data = cifar10(tmp_path, seed=1, validation=5, archives=(archive,))
    assert data.test.x.dtype == torch.uint8
    assert torch.equal(data.test.x.flatten(1), torch.from_numpy(parts[-1][0]))
    assert data.test.y.tolist() == parts[-1][1].tolist()
    assert (len(data.train.y), len(data.validation.y)) == (15, 5)
    given = sorted((*row.tolist(), label) for x, y in parts[:-1] for row, label in zip(x, y.tolist(), strict=True))
    both = [(data.train.x, data.train.y), (data.validation.x, data.validation.y)]
    assert sorted((*row.flatten().tolist(), int(label)) for x, y in both for row, label in zip(x, y, strict=True)) == given


def test_pixels_are_channels_then_rows(tmp_path):
    x = np.zeros((1, 3072), dtype=np.uint8)
    x[0, 1024 + 32 * 2 + 5] = 200  # green, third row, sixth column
    _, archive = write(tmp_path, "binary", [binary_content(x, np.array([3]))] * 6)
    image = cifar10(tmp_path, validation=1, archives=(archive,)).test.x[0]
    assert image.nonzero().tolist() == [[1, 2, 5]]


def test_the_published_digests_are_asked_for():
    assert {archive.name: archive.size for archive in ARCHIVES} == {
        "cifar-10-python.tar.gz": 170_498_071,
        "cifar-10-binary.tar.gz": 170_052_171,
    }
    assert all(len(archive.digest) == 64 for archive in ARCHIVES)


@pytest.mark.parametrize("kind", CONTENTS)
def test_truncated(tmp_path, kind):
    path, archive = write(tmp_path, kind, [CONTENTS[kind](*part) for part in batches()])
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"should have .* bytes\. Found .* truncated\. Download it again"):
        cifar10(tmp_path, archives=(archive,))


def test_wrong_digest(tmp_path):
    path, archive = write(tmp_path, "binary", [binary_content(*part) for part in batches()])
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"digest .* damaged"):
        cifar10(tmp_path, archives=(archive,))


def test_missing_folder_archive_or_a_file_in_its_place(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Found no folder .* Download one from https"):
        cifar10(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"or cifar-10-binary.tar.gz\. Found neither"):
        cifar10(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="Found the file"):
        cifar10(tmp_path / "file")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may read everything")
def test_folder_without_permission(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o000)
    try:
        with pytest.raises(PermissionError, match="no permission"):
            cifar10(locked)
    finally:
        locked.chmod(0o700)


@pytest.mark.parametrize("where", ["iterdir", "open"])
def test_permission_errors_are_one_sentence(tmp_path, monkeypatch, where):
    """The same as above for a superuser, whom the file system never refuses."""
    _, archive = write(tmp_path, "binary", [binary_content(*part) for part in batches()])

    def refuse(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, where, refuse)
    with pytest.raises(PermissionError, match=r"should be readable\. Found no permission for .*\. Grant it\."):
        cifar10(tmp_path, archives=(archive,))


class Wicked:
    def __reduce__(self):
        return os.mkdir, ("was-run",)


def test_a_pickle_that_runs_code_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, archive = write(tmp_path, "python", [pickle.dumps({b"data": Wicked(), b"labels": []}, protocol=2)] * 6)
    with pytest.raises(ValueError, match=r"asks for .*mkdir, which is refused"):
        cifar10(tmp_path, archives=(archive,))
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    ("kind", "content", "match"),
    [
        ("python", pickle.dumps([1], protocol=2), "no dictionary"),
        ("python", python_content(np.zeros((2, 7), dtype=np.uint8), np.zeros(2, dtype=int)), "rows of 3072"),
        ("binary", b"\x01" * 100, "no multiple of 3073"),
        ("binary", b"\x0b" + b"\x00" * 3072, "labels 0 to 9"),
    ],
)
def test_contents_of_another_shape_are_refused(tmp_path, kind, content, match):
    _, archive = write(tmp_path, kind, [content] * 6)
    with pytest.raises(ValueError, match=match):
        cifar10(tmp_path, archives=(archive,))


def test_a_missing_member_is_named(tmp_path):
    _, archive = write(tmp_path, "binary", [binary_content(*part) for part in batches()], name="elsewhere.bin")
    with pytest.raises(ValueError, match="data_batch_1"):
        cifar10(tmp_path, archives=(archive,))


def test_validation_must_leave_something_to_train_on(tmp_path):
    _, archive = write(tmp_path, "binary", [binary_content(*part) for part in batches()])
    with pytest.raises(ValueError, match="between 1 and 19"):
        cifar10(tmp_path, validation=20, archives=(archive,))
