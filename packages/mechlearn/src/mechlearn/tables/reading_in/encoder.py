"""`TableEncoder`: a table of any columns as numbers, for an estimator in a pipeline."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mechlearn.tables.reading_in.cells import Numbers
from mechlearn.tables.reading_in.columns import columns_of
from mechlearn.tables.reading_in.encoding import encoding_of
from mechlearn.tables.reading_in.scaling import Scaling


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table's columns into numbers as `mechlearn fit` does: a column of 0 and 1 for each category.

    A missing number becomes the mean of the rows fitted on, with a column that says where it was missing.

    Attributes:
        encoding_: how each column becomes numbers.
        means_: (J,) what missing numbers become.
    """

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":  # noqa: ANN401, N803
        """Learn the columns of a data frame (pandas, polars, arrow), a mapping of columns or a matrix.

        Raises:
            TypeError: if it is no table.
            ValueError: if a column cannot be encoded; the sentence says which, and what to do.
        """
        del y  # scikit-learn's signature
        columns = columns_of(X)
        self.encoding_ = encoding_of(columns)
        self.means_ = Scaling.of(self.encoding_.encoded(columns)).mean
        return self

    def transform(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """Return (n, J) numbers, none missing.

        Raises:
            ValueError: if a column is missing, or holds texts where numbers belong.
        """
        check_is_fitted(self)
        found = self.encoding_.encoded(columns_of(X))
        return np.where(np.isnan(found), self.means_, found)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ANN401
        """Return the names of the J columns."""
        del input_features  # the table's own names count
        check_is_fitted(self)
        return np.array(self.encoding_.names, dtype=object)


def encoder() -> TableEncoder:
    """Return what turns a table into numbers, for the first place of a pipeline.

    >>> from sklearn.pipeline import make_pipeline
    >>> from mechlearn.tables import DistilledRegressor, encoder
    >>> table = {"ward": ["a", "b"] * 10, "age": list(range(20))}
    >>> model = make_pipeline(encoder(), DistilledRegressor()).fit(table, list(range(20)))
    >>> model.predict({"ward": ["a"], "age": [3]}).shape
    (1,)
    """
    return TableEncoder()
