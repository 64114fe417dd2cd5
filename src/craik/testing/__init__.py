"""Checks of other people's choice objects by what holds for every one, as scikit-learn's ``check_estimator``."""

from craik.testing.teachers import check_teacher as check_teacher
