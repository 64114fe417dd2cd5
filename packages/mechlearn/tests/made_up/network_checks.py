"""scikit-learn's checks of an estimator that trains a network."""

import warnings

from sklearn.utils.estimator_checks import estimator_checks_generator

CHECKS = (
    "check_estimators_pickle", "check_methods_sample_order_invariance", "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data", "check_fit_idempotent", "check_dict_unchanged", "check_classifiers_train",
    "check_regressors_train", "check_dont_overwrite_attributes", "check_estimators_overwrite_params", "check_fit2d_1feature",
)  # fmt: skip
"""Those that a network can break; the others are asked of the estimators as they are."""


def check_network(model):
    asked = 0
    for estimator, check in estimator_checks_generator(model):
        if check.func.__name__ in CHECKS and not check.keywords.get("readonly_memmap"):
            asked += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(estimator)
    assert asked >= 8
