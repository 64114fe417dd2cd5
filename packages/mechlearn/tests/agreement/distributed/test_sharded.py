"""What FSDP2's setters are not given; that it works is in test_distributed.py, where there are processes."""

import pytest
from torch import nn

from mechlearn.agreement import AndMask, Homogeneous, Qualitative
from mechlearn.agreement.distributed.sharded import combine_shards


def test_a_model_that_is_not_sharded():
    with pytest.raises(ValueError, match=r"fully_shard.*Found no sharded module"):
        combine_shards(nn.Linear(2, 2), AndMask())


@pytest.mark.parametrize("rule", [Qualitative(), Homogeneous()])
def test_a_rule_that_asks_how_examples_vary(rule):
    with pytest.raises(ValueError, match="asks how each rank's examples vary"):
        combine_shards(nn.Linear(2, 2), rule)
