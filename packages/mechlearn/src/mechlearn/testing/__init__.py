"""Checks of other people's choice objects by the theorems that hold for every one, as scikit-learn's ``check_estimator``."""

from mechlearn.testing.matchings import check_matching as check_matching
from mechlearn.testing.rules import check_rule as check_rule
from mechlearn.testing.teachers import check_teacher as check_teacher
