import numpy as np

from craik.estimators.tables import Scaling
from site_tables import small

TABLE = small()


def test_weighted_standardisation_is_that_of_repeated_rows():
    x, w = TABLE.x[:10], np.arange(10.0)
    repeated = np.repeat(x, np.arange(10), axis=0)
    weighted = Scaling.of(x, w)
    np.testing.assert_allclose(weighted.mean, repeated.mean(0), atol=1e-12)
    np.testing.assert_allclose(weighted.spread, repeated.std(0), atol=1e-12)
