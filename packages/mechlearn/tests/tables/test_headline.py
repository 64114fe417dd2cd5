"""Whose verdict is the one to go by where nothing helps."""

import numpy as np
import pytest

from mechlearn.tables.comparing import chosen
from mechlearn.tables.verdict import judge

ROUGH = np.array([0.0, 0.0, 0.0, 1.0, -1.0, 60.0, 90.0, 0.0])


@pytest.mark.parametrize(("screening", "masked", "method", "word"), [
    (ROUGH, ROUGH - 11, "screening", "cannot tell"),
    (ROUGH, ROUGH + 0.5, "AND-mask", "as good"),
    (np.zeros(8), np.linspace(-4, -2, 8), "screening", "as good"),
])  # fmt: skip
def test_it_is_the_best_one_s_and_not_of_what_loses_to_it(screening, masked, method, word):
    found = {"pooled network": np.full(8, 60.0), "screening": 60 + screening, "AND-mask": 60 + masked}
    scores = {name: values.tolist() for name, values in found.items()}
    verdicts = {"screening": judge(scores, "screening", ["pooled network"])}
    verdicts["AND-mask"] = judge(scores, "AND-mask", ["pooled network", "screening"])
    told = chosen(verdicts, scores)
    assert (told.method, told.word) == (method, word)
