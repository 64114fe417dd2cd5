"""What is planted is planted, and nothing else."""

import pytest
import torch

from mechlearn_zoo.tasks.pictures.digits import digits_in_order
from mechlearn_zoo.tasks.tables.cells import WARDS, WEAK, all_cells, tag, wards, weak
from mechlearn_zoo.tasks.tables.codes import CORNERS, codes, digits_tag
from mechlearn_zoo.tasks.tables.shifts import calibration, interactions
from mechlearn_zoo.tasks.tables.sites import AFTER
from mechlearn_zoo.tasks.tables.writers import writers

ALL = [
    lambda seed: codes(seed, 8, 53), writers, lambda seed: writers(seed, 3, 1.0), weak, wards, tag, calibration, interactions,
]  # fmt: skip


@pytest.mark.parametrize("make", ALL)
def test_a_seed_gives_the_same_table_and_another_does_not(make):
    one, again, other = make(3), make(3), make(4)
    assert torch.equal(one.x, again.x)
    assert torch.equal(one.y, again.y)
    assert not torch.equal(one.x, other.x) or one.new != other.new
    assert len(one.x) == len(one.y) == len(one.site)
    assert set(one.site.tolist()) == set(range(len(one.sites)))
    assert one.trained_on.sum() == sum(int(one.of(e).sum()) for e, name in enumerate(one.sites) if name not in one.new)


@pytest.mark.parametrize(("sites", "rows"), [(4, 359), (8, 179), (16, 89)])
def test_codes_are_a_sites_own(sites, rows):
    found = codes(100, sites, rows)
    signs = found.x[:, list(CORNERS)].sign()
    for e in range(sites + 1):
        for label in range(10):
            own = signs[found.of(e) & (found.y == label)]
            assert (own == own[0]).float().mean() > 0.99
    first = [signs[found.of(e) & (found.y == 3)][0] for e in (0, 1)]
    assert not torch.equal(*first)


def test_writers_are_the_file_in_its_order():
    x, y = digits_in_order()
    found = writers(100)
    assert torch.equal(found.x, x.flatten(1))
    assert torch.equal(found.y, y)
    assert (found.site.diff() >= 0).all()
    assert len(found.new) == 3
    coded = writers(100, height=1.0)
    others = [pixel for pixel in range(64) if pixel not in CORNERS]
    assert torch.equal(coded.x[:, others], found.x[:, others])
    with pytest.raises(ValueError, match="1 to 11"):
        writers(0, new=12)


def test_cells_are_scikit_learns_weak_columns():
    x, y = all_cells()
    relation = ((x - x.mean(0)) * (y - y.float().mean())[:, None]).mean(0) / y.float().std()
    assert relation.abs()[list(WEAK)].max() < 0.34
    assert int(y.sum()) == 212  # malignant
    found = weak(100, 8, 53)
    assert found.of(8).sum() == 569 - 8 * 53
    with pytest.raises(ValueError, match="leave 20"):
        weak(0, 8, 70)


def test_a_ward_goes_with_the_diagnosis_at_its_clinic_only():
    found = wards(100)
    ward = found.x[:, list(found.planted)].argmax(1)
    agreement = []
    for e in range(9):
        rows = found.of(e)
        share = torch.stack([found.y[rows & (ward == w)].float().mean().nan_to_num(0.5) for w in range(WARDS)])
        agreement.append(share.round())
        right = share.round()[ward[rows]] == found.y[rows]
        assert right.float().mean() > 0.8
    assert not all(torch.equal(agreement[0], other) for other in agreement)


@pytest.mark.parametrize("make", [tag, digits_tag])
def test_a_tag_is_kept_shuffled_and_reversed_on_the_same_rows(make):
    found = make(100)
    kept, shuffled, turned = (found.x[found.of(found.sites.index(name))] for name in AFTER)
    labels = 2.0 * found.y[found.of(found.sites.index("as before"))] - 1
    assert torch.equal(kept[:, :-1], turned[:, :-1])
    assert torch.equal(kept[:, :-1], shuffled[:, :-1])
    torch.testing.assert_close(kept[:, -1] - turned[:, -1], 2 * labels)
    assert (shuffled[:, -1] * labels).mean().abs() < 0.3
    signs = [float((found.x[found.of(e), -1] * (2.0 * found.y[found.of(e)] - 1)).mean()) for e in range(len(found.sites) - 3)]
    assert sum(sign < 0 for sign in signs) == round(0.25 * len(signs))


def test_calibration_changes_rates_and_instruments_only():
    found = calibration(100)
    rates = [float(found.y[found.of(e)].float().mean()) for e in range(9)]
    assert max(rates) - min(rates) > 0.45
    plain = calibration(100, offset=0.0, gain=0.0)
    x, _ = all_cells()
    rows = {tuple(row) for row in x[:, list(WEAK)].tolist()}
    assert all(tuple(row) in rows for row in plain.x.tolist())
    for e in range(9):
        moved, still = found.x[found.of(e)], plain.x[plain.of(e)]
        z = [(t - t.mean(0)) / t.std(0) for t in (moved, still)]
        torch.testing.assert_close(*z, rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="212 malignant"):
        calibration(0, sites=8, rows=80)


def test_interactions_say_nothing_alone():
    found = interactions(100, noise=0.0)
    u, v = found.x[:, -2], found.x[:, -1]
    labels = 2.0 * found.y - 1
    assert (u * labels).mean().abs() < 0.15
    by_site = [float((u * v * labels)[found.of(e)].mean()) for e in range(9)]
    assert sorted(by_site) == [-1.0] * 3 + [1.0] * 6
    assert by_site[8] == -1.0


def test_habits_are_a_share():
    with pytest.raises(ValueError, match=r"`clear` should lie in \[0, 1\]. Found 90"):
        wards(0, clear=90.0)
