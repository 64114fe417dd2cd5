import json

import pytest

from claimlab.cli.bench import KEYS


@pytest.mark.filterwarnings("ignore:.*There is a performance drop")
def test_small_workloads(mechlearn):
    status, out, _ = mechlearn("bench", "gradients", "--quick", "--json")
    assert status == 0
    rows = json.loads(out)["rows"]
    assert all(set(KEYS) <= set(row) for row in rows)
    assert len(rows) == 20
    assert all(row["exact"] and row["ratio"] > 0 for row in rows if row["method"] != "plain")
