import numpy as np
import pytest

from mechlearn.tables.reading_in import encoding_of
from mechlearn.tables.reports.privileged import encoded_steps

NUMBERS = {"d1": np.array([1.0, 2.0, 3.0]), "d2": np.array([1.0, np.nan, 3.0]), "empty": np.full(3, np.nan)}
TEXTS = {"t1": np.array(["a", "b", "b"], dtype=object), "t2": np.array(["c", "b", None], dtype=object)}


def test_gaps_in_one_step_are_a_column_of_each():
    first, second = encoded_steps(NUMBERS, [["d1"], ["d2"]])
    assert first.tolist() == [[1, 0], [2, 0], [3, 0]]
    assert second[:, 1].tolist() == [0, 1, 0]
    assert encoded_steps(NUMBERS, [["d1"], ["empty"]])[0].shape == (3, 2)


def test_texts_of_all_steps_are_columns_of_each():
    first, second, empty = encoded_steps({**NUMBERS, **TEXTS}, [["t1"], ["t2"], ["empty"]])
    assert first.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert second.tolist() == [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert empty.tolist() == [[0, 0, 0, 1]] * 3


def test_a_single_step_is_encoded_as_inputs_are():
    columns = {**NUMBERS, **TEXTS}
    (step,) = encoded_steps(columns, [[*columns]])
    np.testing.assert_array_equal(step, encoding_of(columns).encoded(columns))


def test_refusals():
    with pytest.raises(ValueError, match=r"Found 1, 2\. Name the same columns"):
        encoded_steps(NUMBERS, [["d1"], ["d1", "d2"]])
    with pytest.raises(ValueError, match="Found numbers in 'd2' and texts in 't2'"):
        encoded_steps({**NUMBERS, **TEXTS}, [["d2"], ["t2"]])
