import pytest
import torch

from mechlearn_zoo.methods.language.vocabulary import END, PAD, UNKNOWN, Vocabulary, packed, padded


def test_words_and_ids():
    vocabulary = Vocabulary.of([["b", "a", "b"], ["c", "a", "b"]])
    assert vocabulary.words == ("b", "a", "c")
    assert len(vocabulary) == 8
    assert vocabulary.text(vocabulary.ids(["a", "z", "c"])) == ["a", "<unknown>", "c"]
    assert "a" in vocabulary
    assert "z" not in vocabulary
    assert Vocabulary.of([["b", "a", "b"]], least=2).words == ("b",)
    assert Vocabulary.of([["b", "a", "b"]], most=1).words == ("b",)
    ids, spans = vocabulary.encode("a, b")
    assert [("a, b")[a:b] for a, b in spans] == ["a", ",", "b"]
    assert ids == [6, UNKNOWN, 5]


def test_a_vocabulary_is_kept(tmp_path):
    vocabulary = Vocabulary(("a", "é"))
    vocabulary.save(tmp_path / "words.json")
    assert Vocabulary.load(tmp_path / "words.json") == vocabulary
    (tmp_path / "words.json").write_text("{}")
    with pytest.raises(ValueError, match="`save` wrote"):
        Vocabulary.load(tmp_path / "words.json")


def test_packing_and_padding():
    assert packed([[7, 8, 9], [6]], 3).tolist() == [[7, 8, 9], [END, 6, END]]
    ids, lengths = padded([[7], [8, 9]])
    assert torch.equal(ids, torch.tensor([[7, PAD], [8, 9]], device=ids.device))
    assert lengths.tolist() == [1, 2]
    assert padded([[]])[0].tolist() == [[PAD]]


@pytest.mark.extra("language", "tokenizers")
def test_a_trained_tokenizer():
    from tokenizers import Tokenizer, models, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.train_from_iterator(["abab", "abc"] * 5, trainers.BpeTrainer(vocab_size=6, special_tokens=["[UNK]"]))
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert "[UNK]" not in vocabulary.words
    pieces = tokenizer.encode("abab").tokens
    assert vocabulary.text(vocabulary.ids(pieces)) == pieces


def test_bad_input():
    with pytest.raises(ValueError, match="'a' twice"):
        Vocabulary(("a", "a"))
    with pytest.raises(ValueError, match="<pad>"):
        Vocabulary(("<pad>",))
    with pytest.raises(TypeError, match="words"):
        Vocabulary((1,))
    with pytest.raises(ValueError, match="between 0 and 5"):
        Vocabulary(("a",)).text([6])
    with pytest.raises(ValueError, match="fill a row"):
        packed([[1]], 5)
    with pytest.raises(ValueError, match="at least one"):
        padded([])
    with pytest.raises(TypeError, match=r"tokenizers\.Tokenizer"):
        Vocabulary.from_tokenizer(3)
