import numpy as np

from mechlearn.tables.reading_in import Scaling
from site_tables import small

TABLE = small()


def test_weighted_standardisation_is_that_of_repeated_rows():
    x, w = TABLE.x[:10], np.arange(10.0)
    repeated = np.repeat(x, np.arange(10), axis=0)
    weighted = Scaling.of(x, w)
    np.testing.assert_allclose(weighted.mean, repeated.mean(0), atol=1e-12)
    np.testing.assert_allclose(weighted.spread, repeated.std(0), atol=1e-12)


def test_an_input_that_is_constant_in_training_says_nothing_elsewhere():
    x = np.array([[0.1, 2020, np.nan], [0.1, 2020, 3], [0.1, 2020, 3]])
    scaling = Scaling.of_inputs(x)
    assert scaling.applied(x + np.array([[0.0, 100, 7]])).tolist() == [[0, 0, 0]] * 3
    assert Scaling.of(x).spread.tolist() == [1, 1, 1]
    varied = np.column_stack([x[:, 0], [1.0, 2, 4]])
    np.testing.assert_array_equal(Scaling.of_inputs(varied).applied(varied)[:, 1], Scaling.of(varied).applied(varied)[:, 1])
