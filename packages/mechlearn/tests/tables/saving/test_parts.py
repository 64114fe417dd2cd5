import numpy as np
import pytest

from mechlearn.tables.saving.parts import NOWHERE, Parts


def counted():
    made = []

    def make():
        made.append(1)
        return {"a": np.arange(3), "seconds": np.array(0.5)}

    return made, make


def test_what_is_there_is_not_made_again(tmp_path):
    made, make = counted()
    first = Parts(tmp_path / "deep").made("pooled linear 0", make)
    parts = Parts(tmp_path / "deep")
    again = parts.made("pooled linear 0", make)
    np.testing.assert_array_equal(first["a"], again["a"])
    assert (len(made), parts.found) == (1, 1)


@pytest.mark.parametrize("content", [b"", b"half a file", b"PK\x03\x04 cut short"])
def test_a_file_that_is_none_is_made_again(tmp_path, content):
    made, make = counted()
    parts = Parts(tmp_path)
    (tmp_path / "x.npz").write_bytes(content)
    assert parts.made("x", make)["a"].tolist() == [0, 1, 2]
    assert (len(made), parts.found) == (1, 0)


def test_a_pickle_in_a_file_is_not_opened(tmp_path):
    made, make = counted()
    np.savez(tmp_path / "x.npz", a=np.array([{}, None], dtype=object))
    Parts(tmp_path).made("x", make)
    assert len(made) == 1


def test_nowhere_keeps_nothing():
    made, make = counted()
    NOWHERE.made("x", make)
    NOWHERE.made("x", make)
    assert len(made) == 2
