"""Parts of a seed: what is finished is not computed again, what is shared goes on, what was inside is dropped."""

import pytest
import torch

from claimlab import checkpoint, computed, part
from claimlab.errors import LabError


def drawn(name, generator, asked):
    for place in range(3):
        asked.append((name, place))
        yield {"part": name, "draw": float(torch.rand((), generator=generator))}


def seed(asked, until=None):
    generator, found = torch.Generator().manual_seed(0), []
    for name in ("a", "b"):
        for row in part(name, drawn(name, generator, asked), generator):
            found.append(row)
            if len(found) == until:
                return found
    return found


def test_a_finished_part_is_not_computed_and_leaves_a_shared_generator_where_it_did(keeper):
    whole = seed([])
    keeper()
    assert seed([], 5) == whole[:5]
    keeper()
    asked = []
    assert seed(asked) == whole
    assert asked == [("b", 0), ("b", 1), ("b", 2)]
    keeper()
    assert seed(asked := []) == whole
    assert not asked


def test_without_a_worker_a_part_is_its_rows_as_they_come():
    rows = part("a", drawn("a", torch.Generator().manual_seed(0), asked := []))
    next(rows)
    assert asked == [("a", 0)]
    assert computed("value", pow, 2, 5) == 32


def test_loops_within_parts_have_names_of_their_own_and_go_with_them(keeper):
    def rows(name):
        weight = torch.zeros(2)
        saved = checkpoint("training", weight)
        for step in range(saved.done, 2):
            weight += 1
            yield saved.keep(step + 1, {"part": name, "weight": float(weight[0])})
        saved.stay()
        yield {"part": name, "weight": float(weight.sum())}

    opened = keeper()
    found = [row for name in ("a", "b") for row in part(name, rows(name))]
    assert [row["weight"] for row in found] == [1.0, 2.0, 4.0] * 2
    assert list(opened._loops) == ["a", "b"]
    assert not opened._tensors


def test_a_loop_that_nobody_ended_ends_with_its_part(keeper):
    def rows(generator):
        saved = checkpoint("training", generator)
        for step in range(saved.done, 2):
            yield saved.keep(step + 1, {"draw": float(torch.rand((), generator=generator))})

    keeper()
    generator = torch.Generator().manual_seed(0)
    found = [row for name in ("a", "b") for row in part(name, rows(generator), generator)]
    assert [row["draw"] for row in found] == [float(one) for one in torch.rand(4, generator=generator.manual_seed(0))]


def test_what_stays_is_put_back_and_changed_by_nobody(keeper):
    for drawn_before in (False, True):
        opened = keeper()
        model, generator, numbers = torch.nn.Linear(2, 1), torch.Generator().manual_seed(0), [0, "a"]
        saved = checkpoint("model", model, generator)
        saved.restore(numbers)  # a second time, as a trainer does what its caller opened
        if not drawn_before:
            torch.nn.init.ones_(model.weight)
            first = torch.rand(3, generator=generator)
            numbers[:] = 3, None
            saved.keep(5)
            saved.stay()
            saved.stay()
            torch.rand(7, generator=generator)
            model.weight.data.zero_()
            numbers[0] = 9
            checkpoint("later").keep(1)
    assert saved.finished
    assert saved.done == 5
    assert bool((model.weight == 1).all())
    assert numbers == [3, None]
    again = torch.Generator().manual_seed(0)
    assert torch.equal(torch.rand(3, generator=again), first)
    assert torch.equal(again.get_state(), generator.get_state())
    assert not opened.within


def test_one_value_comes_again_as_json(keeper):
    keeper()
    assert computed("pair", divmod, 7, 2) == (3, 1)
    with pytest.raises(LabError, match=r"its own name\. Found 'pair' twice"):
        computed("pair", divmod, 7, 2)
    keeper()
    assert computed("pair", divmod, 0, 1) == [3, 1]
