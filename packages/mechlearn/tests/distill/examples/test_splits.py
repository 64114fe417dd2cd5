import pytest
import torch

import distill_models as models
from mechlearn.distill import split_rows


def test_splits_cover_all_rows_once():
    split = split_rows(11, 0.3, models.generator())
    assert len(split.validation) == 3
    assert sorted(torch.cat([split.training, split.validation]).tolist()) == list(range(11))
    assert not torch.equal(split_rows(11, 0.3, models.generator(1)).validation, split.validation)


@pytest.mark.parametrize("share", [0.0, 1.0, 0.01, -0.5, 2.0])
def test_a_split_with_an_empty_side_is_refused(share):
    with pytest.raises(ValueError, match="both sides"):
        split_rows(10, share, models.generator())
