import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimlab.errors import LabError
from claimlab.running.rowfiles import complete_row, encode, packed, read_partial, read_rows

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
ROWS = st.dictionaries(st.text().filter(lambda key: key not in {"seed", "seconds"}), SCALARS)


def seeds(*numbers: int, length: int = 3):
    return {seed: [complete_row({"step": step}, seed, float(step)) for step in range(length)] for seed in numbers}


@given(ROWS, st.integers(0, 1000))
def test_rows_survive_writing_and_reading(tmp_path_factory, row, seed):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl.gz"
    completed = complete_row(row, seed, 1.5)
    path.write_bytes(packed({seed: [completed, completed]}))
    assert read_rows(path).seeds == {seed: [completed, completed]}
    assert list(completed)[:2] == ["seed", "seconds"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), [1], {"a": 1}, object()])
def test_what_is_no_finite_scalar_is_refused_by_its_key(value):
    with pytest.raises(LabError, match="'accuracy'"):
        complete_row({"loss": 1.0, "accuracy": value}, 0, 0.0)


def test_a_row_must_not_contradict_the_lab():
    assert complete_row({"seed": 3}, 3, 0.0)["seed"] == 3
    assert type(complete_row({"seed": 3.0}, 3, 0.0)["seed"]) is int
    with pytest.raises(LabError, match="seed"):
        complete_row({"seed": 4}, 3, 0.0)
    with pytest.raises(LabError, match="seconds"):
        complete_row({"seconds": 1.0}, 3, 0.0)


def test_seeds_are_sorted(tmp_path):
    (tmp_path / "rows.jsonl.gz").write_bytes(packed(seeds(5, 1, 3)))
    lines = gzip.decompress((tmp_path / "rows.jsonl.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line)["seed"] for line in lines] == [1, 1, 1, 3, 3, 3, 5, 5, 5]


@pytest.mark.parametrize(
    ("line", "damage", "lost"),
    [
        (4, '{"seed": 1, "seco', {1}),  # truncated, but it tells its seed
        (4, "\x00\x00\x00", {1}),  # between two lines of seed 1
        (3, "garbage", {0, 1}),  # between seeds 0 and 1: either may have lost it
        (8, "{}", {2}),
        (0, '{"seed": 0, "seconds": NaN}', {0}),
    ],
)
def test_a_damaged_line_costs_its_seed_and_no_other(tmp_path, line, damage, lost):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(packed(seeds(0, 1, 2)))
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    lines[line] = damage
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    recorded = read_rows(path)
    assert set(recorded.damaged) == lost
    assert recorded.seeds == {seed: rows for seed, rows in seeds(0, 1, 2).items() if seed not in lost}


def test_bytes_that_are_no_text_are_damage(tmp_path):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(encode(complete_row({}, 0, 0.0)).encode() + b'{"seed": 1, "x": "\xff\xfe')
    assert (read_rows(path).damaged, list(read_rows(path).seeds)) == ((1,), [0])
    path.write_bytes(b"\xff\xfe garbage\nmore")
    assert (read_rows(path).damaged, read_rows(path).seeds, read_rows(path).unreadable) == ((), {}, 2)


def test_equal_rows_give_equal_bytes(tmp_path):
    (tmp_path / "a.gz").write_bytes(packed(seeds(0, 1)))
    (tmp_path / "b.gz").write_bytes(packed(seeds(1, 0)))
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_file_that_was_cut_keeps_the_seeds_before_the_cut(tmp_path, share):
    path, whole = tmp_path / "rows.jsonl.gz", seeds(*range(200))
    path.write_bytes(packed(whole))
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    recorded = read_rows(path)
    assert 0 < len(recorded.seeds) < 200
    assert recorded.unreadable == 1
    assert recorded.seeds == {seed: whole[seed] for seed in range(len(recorded.seeds))}


def test_half_a_seed_is_read_up_to_its_last_whole_row(tmp_path):
    path = tmp_path / "0.jsonl"
    assert read_partial(path) == []
    path.write_text("".join(map(encode, seeds(0)[0])) + '{"seed": 0, "sec')
    assert read_partial(path) == seeds(0)[0]
