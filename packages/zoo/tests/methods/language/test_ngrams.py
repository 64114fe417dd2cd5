import pytest
import torch

import language_oracles as oracle
from mechlearn_zoo.methods.language.ngrams import Bleu, bleu, bleu_against, distinct, self_bleu

SMOOTHINGS = [
    Bleu(smoothing="none"), Bleu(smoothing="floor"), Bleu(smoothing="add-k"), Bleu(), Bleu(effective=True), Bleu(order=2),
]  # fmt: skip


def texts(seed, rows, width, words=6):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(words, (rows, width), generator=generator)
    return ids, torch.randint(1, width + 1, (rows,), generator=generator)


def listed(ids, lengths):
    return [row[:length].tolist() for row, length in zip(ids, lengths, strict=True)]


def worded(ids, lengths):
    return [" ".join(f"w{i}" for i in row) for row in listed(ids, lengths)]


def settings_of(one):
    return {"order": one.order, "smoothing": one.smoothing, "value": one.value, "effective": one.effective}


@pytest.mark.parametrize("settings", SMOOTHINGS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_corpus_bleu_is_the_literal_one(settings, seed):
    ids, lengths = texts(seed, 7, 9)
    references, reference_lengths = texts(seed + 50, 14, 8)
    expected = oracle.bleu(
        listed(ids, lengths),
        [listed(references[2 * i : 2 * i + 2], reference_lengths[2 * i : 2 * i + 2]) for i in range(7)],
        **settings_of(settings),
    )
    found = bleu(ids, references.view(7, 2, 8), settings, lengths, reference_lengths.view(7, 2))
    assert found == pytest.approx(expected, abs=1e-12)
    everything = listed(references, reference_lengths)
    expected = oracle.bleu(listed(ids, lengths), [everything] * 7, **settings_of(settings))
    assert bleu_against(ids, references, settings, lengths, reference_lengths) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("settings", SMOOTHINGS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_self_bleu_is_the_literal_one(settings, seed):
    ids, lengths = texts(seed, 9, 8, words=4)
    lengths = lengths.clamp(min=settings.order)
    found = self_bleu(ids, settings, lengths)
    assert found.tolist() == pytest.approx(oracle.self_bleu(listed(ids, lengths), **settings_of(settings)), abs=1e-12)


@pytest.mark.extra("language", "sacrebleu")
@pytest.mark.parametrize("settings", SMOOTHINGS, ids=str)
def test_scores_are_sacrebleus(settings):
    from sacrebleu.metrics import BLEU

    theirs = BLEU(
        tokenize="none", smooth_method=settings.smoothing, smooth_value=settings.value, max_ngram_order=settings.order,
        effective_order=settings.effective, force=True,
    )  # fmt: skip
    ids, lengths = texts(1, 20, 12)
    lengths = lengths.clamp(min=settings.order)
    sentences = worded(ids, lengths)
    references, reference_lengths = texts(2, 20, 10)
    other = worded(references, reference_lengths)
    expected = theirs.corpus_score(sentences, [other]).score / 100
    assert bleu(ids, references, settings, lengths, reference_lengths) == pytest.approx(expected, abs=1e-9)
    for i, found in enumerate(self_bleu(ids, settings, lengths).tolist()):
        others = sentences[:i] + sentences[i + 1 :]
        assert found == pytest.approx(theirs.sentence_score(sentences[i], others).score / 100, abs=1e-9)


def test_a_text_equals_itself_and_shares_nothing_with_another():
    ids = torch.arange(10).view(2, 5)
    assert bleu(ids, ids) == pytest.approx(1.0)
    assert bleu(ids, ids + 100) == 0.0
    assert self_bleu(torch.cat([ids, ids])).tolist() == pytest.approx([1.0] * 4)


def test_distinct():
    assert distinct(torch.tensor([[1, 2, 1, 2]]), 2) == pytest.approx(2 / 3)
    assert distinct(torch.tensor([[1, 2, 1, 2], [3, 4, 9, 9]]), 2, torch.tensor([4, 2])) == pytest.approx(3 / 4)


def test_bad_input():
    ids = torch.arange(10).view(2, 5)
    with pytest.raises(ValueError, match=r"two or more.*Found one"):
        self_bleu(ids[:1])
    with pytest.raises(ValueError, match=r'effective=True.*smoothing="add-k"'):
        self_bleu(ids[:, :3])
    with pytest.raises(ValueError, match="bleu_against"):
        bleu(ids, ids[:1])
    with pytest.raises(ValueError, match="lengths"):
        bleu(ids, ids, None, torch.tensor([6, 1]))
    with pytest.raises(ValueError, match="smoothing"):
        Bleu(smoothing="kind")
    with pytest.raises(ValueError, match="value"):
        Bleu(value=1.0)
    with pytest.raises(ValueError, match="Lower the `order`"):
        distinct(ids, 6)
