import json

from craik.cli.benchrows import KEYS


def test_json_is_one_object_with_the_agreed_keys(craik):
    status, out, _ = craik("bench", "finite", "--quick", "--json")
    found = json.loads(out)
    assert (status, found["bench"]) == (0, "finite")
    assert all(set(KEYS) <= set(row) for row in found["rows"])
    assert [row["method"] for row in found["rows"]] == ["literal", "craik"] * 4
    assert all(row["exact"] for row in found["rows"] if row["method"] == "craik")
