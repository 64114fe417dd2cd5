import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from mechlearn.tables import AgreementClassifier, TableEncoder, encoder
from mechlearn.tables.reading_in import encoding_of


def test_estimators_take_what_the_command_takes():
    table = {"ward": np.array(["a", "b", None] * 20, dtype=object), "age": np.where(np.arange(60) % 7, np.arange(60.0), np.nan)}
    made = encoder().fit(table)
    found = made.transform(table)
    assert isinstance(made, TableEncoder)
    assert made.get_feature_names_out().tolist() == ["ward=a", "ward=b", "ward missing", "age", "age missing"]
    wanted = encoding_of(table).encoded(table)
    np.testing.assert_array_equal(found, np.where(np.isnan(wanted), np.nanmean(table["age"]), wanted))
    line = make_pipeline(encoder(), AgreementClassifier(steps=2, early_stopping=False, audit_features=False, random_state=0))
    line.fit(table, np.arange(60) % 2, agreementclassifier__groups=np.arange(60) % 3)
    assert line.predict({"ward": ["new"], "age": [None]}).shape == (1,)
    with pytest.raises(ValueError, match="Found no 'age'"):
        line.predict({"ward": ["a"]})
