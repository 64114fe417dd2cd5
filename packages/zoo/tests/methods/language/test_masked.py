import itertools

import pytest
import torch

from mechlearn_zoo.methods.language.masked import IGNORED, KEPT, MASKED, REPLACED, UNTOUCHED, Corruption, corrupt, masked_loss
from mechlearn_zoo.methods.language.vocabulary import BEGIN, END, MASK, PAD


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def text(rows, length=40):
    ids = torch.randint(5, 50, (rows, length), generator=seeded(3))
    ids[:, 0], ids[:, -1] = BEGIN, END
    ids[1::2, -5:] = PAD
    special = (ids == BEGIN) | (ids == END) | (ids == PAD)
    return ids, special


def test_as_many_are_chosen_as_the_released_code_says():
    ids, special = text(100)
    found = corrupt(ids, special, Corruption(50), seeded())
    chosen = found.targets != IGNORED
    lengths = (ids != PAD).sum(1)
    assert chosen.sum(1).tolist() == [max(1, round(0.15 * int(n))) for n in lengths]
    assert not (chosen & special).any()
    assert torch.equal(found.targets[chosen], ids[chosen])
    assert torch.equal(found.kind != UNTOUCHED, chosen)
    untouched = (found.kind == UNTOUCHED) | (found.kind == KEPT)
    assert torch.equal(found.ids[untouched], ids[untouched])
    assert (found.ids[found.kind == MASKED] == MASK).all()
    assert (corrupt(ids, special, Corruption(50, most=3), seeded()).targets != IGNORED).sum(1).tolist() == [3] * 100


@pytest.mark.parametrize("selection", ["count", "bernoulli"])
def test_shares_of_what_becomes_of_them(selection):
    ids, special = text(20_000)
    found = corrupt(ids, special, Corruption(50, selection=selection, random_from="ordinary"), seeded())
    chosen = (found.kind != UNTOUCHED).sum()
    for kind, share in {MASKED: 0.8, KEPT: 0.1, REPLACED: 0.1}.items():
        found_share = (found.kind == kind).sum() / chosen
        assert abs(found_share - share) < 4 * (share * (1 - share) / chosen) ** 0.5
    assert (found.ids[found.kind == REPLACED] >= 5).all()
    if selection == "bernoulli":
        assert abs(chosen / (~special).sum() - 0.15) < 4 * (0.15 * 0.85 / (~special).sum()) ** 0.5


def law(ids, special, vocabulary, count):
    """The law of what is read, enumerated: each set of places, each fate of each, each random id."""
    candidates = [t for t in range(len(ids)) if not special[t]]
    sets = list(itertools.combinations(candidates, min(count, len(candidates))))
    found = {}
    for places in sets:
        options = [[(MASK, 0.8), (ids[t], 0.1), *((v, 0.1 / vocabulary) for v in range(vocabulary))] for t in places]
        for choice in itertools.product(*options):
            read, probability = list(ids), 1 / len(sets)
            for t, (value, weight) in zip(places, choice, strict=True):
                read[t], probability = value, probability * weight
            key = (tuple(read), places)
            found[key] = found.get(key, 0.0) + probability
    return found


@pytest.mark.parametrize("rate", [0.15, 0.5])
def test_its_law_is_the_released_codes(rate):
    ids, special = [BEGIN, 5, 6, END], [True, False, False, True]
    rows = 100_000
    found = corrupt(
        torch.tensor([ids]).expand(rows, 4), torch.tensor([special]).expand(rows, 4), Corruption(7, rate=rate), seeded()
    )
    expected = law(ids, special, 7, max(1, round(rate * 4)))
    assert sum(expected.values()) == pytest.approx(1.0)
    both = torch.cat([found.ids, found.targets != IGNORED], 1)
    kinds, counts = both.unique(dim=0, return_counts=True)
    seen = {
        (tuple(k[:4]), tuple(t for t in range(4) if k[4 + t])): c / rows
        for k, c in zip(kinds.tolist(), counts.tolist(), strict=True)
    }
    assert set(seen) <= set(expected)
    for key, probability in expected.items():
        assert abs(seen.get(key, 0.0) - probability) < 5 * (probability / rows) ** 0.5 + 1e-5, key


def test_whole_words_are_chosen_together():
    ids, special = text(50)
    words = torch.arange(40) // 3
    found = corrupt(ids, special, Corruption(50), seeded(), words.expand(50, 40))
    for row, chosen in enumerate(found.targets != IGNORED):
        touched = words[chosen].unique()
        assert torch.equal(chosen, torch.isin(words, touched) & ~special[row])
        assert 0 < chosen.sum() <= max(1, round(0.15 * int((ids[row] != PAD).sum())))


def test_the_loss_is_a_mean_over_chosen_places():
    logits = torch.randn(2, 3, 4, dtype=torch.float64, generator=seeded())
    targets = torch.tensor([[IGNORED, 2, 0], [1, IGNORED, IGNORED]])
    logs = logits.log_softmax(-1)
    expected = torch.stack([-(logs[0, 1, 2] + logs[0, 2, 0]) / 2, -logs[1, 0, 1]])
    torch.testing.assert_close(masked_loss(logits, targets), expected)


def test_bad_input():
    ids, special = text(2)
    for settings, message in [
        ({"rate": 0.0}, "above 0"),
        ({"rate": 1.2}, "rate"),
        ({"mask": 50}, "mask"),
        ({"selection": "all"}, "selection"),
    ]:
        with pytest.raises(ValueError, match=message):
            Corruption(50, **settings)
    with pytest.raises(ValueError, match=r"nothing to mask in row 1"):
        corrupt(ids, special | torch.tensor([[False], [True]]), Corruption(50), seeded())
    with pytest.raises(ValueError, match=r"\[0, 9\]"):
        corrupt(ids, special, Corruption(10), seeded())
    with pytest.raises(ValueError, match='"count"'):
        corrupt(ids, special, Corruption(50, selection="bernoulli"), seeded(), ids)
    with pytest.raises(ValueError, match="row 1"):
        masked_loss(torch.zeros(2, 2, 3), torch.tensor([[0, 1], [IGNORED, IGNORED]]))


def test_of_equal_keys_no_more_are_chosen(monkeypatch):
    ids, special = text(20)
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.full(shape, 0.25))
    chosen = corrupt(ids, special, Corruption(50), seeded()).targets != IGNORED
    assert chosen.sum(1).tolist() == [max(1, round(0.15 * int(n))) for n in (ids != PAD).sum(1)]
    assert not (chosen & special).any()


def test_where_keys_differ_the_least_are_chosen():
    ids, special = text(20)
    keys = torch.rand(ids.shape, generator=seeded(9)).masked_fill(special, 2.0)
    for row, chosen in enumerate(corrupt(ids, special, Corruption(50), seeded(9)).targets != IGNORED):
        assert set(keys[row].argsort()[: int(chosen.sum())].tolist()) == set(chosen.nonzero().flatten().tolist())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_summed_in_float32(dtype):
    logits = torch.zeros(1, 40, 2, dtype=dtype)
    logits[:, :, 0] = 3000.0
    targets = torch.ones(1, 40, dtype=torch.long)
    assert masked_loss(logits, targets).tolist() == masked_loss(logits.float(), targets).tolist()


def test_a_mask_of_numbers_is_refused(as_installed):
    ids, special = text(2)
    with pytest.raises(TypeError, match=r"`special` should hold booleans\. Found torch\.int64"):
        corrupt(ids, special.long(), Corruption(50), seeded())
    with pytest.raises(TypeError, match=r"`ids` should hold whole numbers\. Found torch\.float32"):
        corrupt(ids.float(), special, Corruption(50), seeded())


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
def test_ids_of_a_short_type_are_ids(dtype):
    ids, special = text(4)
    found, wanted = (corrupt(one, special, Corruption(50), seeded()) for one in (ids.to(dtype), ids))
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
    logits = torch.randn(*ids.shape, 50, generator=seeded())
    assert torch.equal(masked_loss(logits, wanted.targets.int()), masked_loss(logits, wanted.targets))
