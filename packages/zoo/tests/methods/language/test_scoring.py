import pytest
import torch

from mechlearn_zoo.methods.language.schemas import Schema, substituted
from mechlearn_zoo.methods.language.scoring import Scorer, predict, score
from mechlearn_zoo.methods.language.vocabulary import MASK, Vocabulary
from mechlearn_zoo.nn.transformer import LanguageModel, TransformerSizes

ITEMS = [
    Schema("ann paid bob since it was rich today", slice(19, 21), ("ann", "bob"), 0),
    Schema("the cup hit the red cup but it broke", slice(28, 30), ("the cup", "the red cup"), 1),
]
VOCABULARY = Vocabulary.of([one.text.split() for one in ITEMS])


def model(causal):
    sizes = TransformerSizes(len(VOCABULARY), 8, 2, 2, 16, 20)
    return LanguageModel(sizes, torch.Generator().manual_seed(0), causal, spread=0.5).double()


def literal(network, schema, candidate, kind, causal):
    """One text at a time, one token at a time."""
    text = substituted(schema, candidate)
    ids, spans = VOCABULARY.encode(text.text)
    total, count = 0.0, 0
    for t, (a, b) in enumerate(spans):
        inside = a < text.end and b > text.start
        if not {"full": True, "partial": a >= text.end, "candidate": inside}[kind] or (causal and t == 0):
            continue
        if causal:
            logits = network(torch.tensor([ids[:t]]))[0, -1]
        else:
            hidden = [
                MASK if p == t or (kind == "candidate" and s < text.end and e > text.start) else i
                for p, (i, (s, e)) in enumerate(zip(ids, spans, strict=True))
            ]
            logits = network(torch.tensor([hidden]))[0, t]
        total, count = total + float(logits.log_softmax(0)[ids[t]].detach()), count + 1
    return total / count if kind == "candidate" and not causal else total


@pytest.mark.parametrize("kind", ["full", "partial", "candidate"])
@pytest.mark.parametrize("causal", [True, False])
def test_batches_equal_one_by_one(kind, causal):
    network = model(causal)
    found = score(Scorer(network, VOCABULARY.encode, None if causal else MASK, batch=3), ITEMS, kind)
    expected = [[literal(network, one, candidate, kind, causal) for candidate in (0, 1)] for one in ITEMS]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-10, atol=1e-10)
    assert torch.equal(predict(found), found.argmax(1))


def tokenizer():
    """A word-level tokenizer of `tokenizers`, wrapped as `transformers` has them."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": 0, "<unknown>": 1, "<mask>": 2, **{w: i + 3 for i, w in enumerate(VOCABULARY.words)}}
    inner = Tokenizer(models.WordLevel(words, unk_token="<unknown>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", unk_token="<unknown>", mask_token="<mask>")


@pytest.mark.extra("language", "transformers")
def test_causal_and_masked_models_of_transformers():
    from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

    own = tokenizer()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        gpt = GPT2LMHeadModel(GPT2Config(vocab_size=len(own), n_embd=8, n_layer=2, n_head=2, n_positions=20)).eval()
        bert = BertForMaskedLM(
            BertConfig(vocab_size=len(own), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
        ).eval()
    found = score(Scorer.of_transformers(gpt, own), ITEMS, "full")
    for i, schema in enumerate(ITEMS):
        for candidate in (0, 1):
            ids = torch.tensor([own(substituted(schema, candidate).text)["input_ids"]])
            loss = gpt(ids, labels=ids).loss  # transformers' own mean over all tokens but the first
            assert float(found[i, candidate]) == pytest.approx(-float(loss.detach()) * (ids.shape[1] - 1), abs=1e-4)
    for kind in ("full", "partial", "candidate"):
        whole = score(Scorer.of_transformers(bert, own, batch=64), ITEMS, kind)
        torch.testing.assert_close(whole, score(Scorer.of_transformers(bert, own, batch=1), ITEMS, kind), rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match=r"model\.eval"):
        Scorer.of_transformers(gpt.train(), own)


def test_bad_input():
    scorer = Scorer(model(True), VOCABULARY.encode)
    with pytest.raises(ValueError, match="kind"):
        score(scorer, ITEMS, "sum")
    with pytest.raises(ValueError, match="at least one item"):
        score(scorer, [])
    last = Schema("ann paid bob : it", slice(15, 17), ("ann", "bob"), 0)
    with pytest.raises(ValueError, match='kind="full"'):
        score(scorer, [last], "partial")
    with pytest.raises(TypeError, match="logits"):
        Scorer(3, VOCABULARY.encode)
