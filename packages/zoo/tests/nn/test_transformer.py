import pytest
import torch
from torch import nn

from mechlearn.agreement import Agreement, AndMask
from mechlearn_zoo.nn.transformer import Encoder, LanguageModel, TransformerSizes, bert_weights, from_bert

SIZES = TransformerSizes(vocabulary=20, width=8, layers=2, heads=2, inner=16, positions=10)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def ids(rows=3, length=6, seed=1):
    return torch.randint(1, 20, (rows, length), generator=seeded(seed))


def bert(dtype=torch.float32):
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=10, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BertModel(config).to(dtype).eval()
        for parameter in model.parameters():
            nn.init.normal_(parameter, 0, 0.3)
    return model


@pytest.mark.extra("language", "transformers")
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_equals_bert_by_its_weights(dtype, tolerance):
    theirs = bert(dtype)
    ours = from_bert(theirs)
    x, segments = ids(), torch.tensor([[0, 0, 0, 1, 1, 1]] * 3)
    attended = torch.arange(6) < torch.tensor([[6], [4], [1]])
    found = ours(x, segments, attended)
    expected = theirs(x, attention_mask=attended.long(), token_type_ids=segments)
    torch.testing.assert_close(found[attended], expected.last_hidden_state[attended], rtol=0, atol=tolerance)
    torch.testing.assert_close(ours.pool(found), expected.pooler_output, rtol=0, atol=tolerance)
    torch.testing.assert_close(ours(x), theirs(x).last_hidden_state, rtol=0, atol=tolerance)
    fresh = Encoder(SIZES, seeded()).to(dtype)
    fresh.load_state_dict(bert_weights(theirs.state_dict()))
    torch.testing.assert_close(fresh(x), ours(x))


@pytest.mark.extra("language", "transformers")
def test_other_models_are_refused():
    from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

    with pytest.raises(TypeError, match="BertModel"):
        from_bert(GPT2Model(GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=9)))
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 9}
    with pytest.raises(ValueError, match="exact gelu"):
        from_bert(BertModel(BertConfig(**small, hidden_act="relu")))
    with pytest.raises(ValueError, match="state dictionary"):
        bert_weights({"words": torch.zeros(2)})


@pytest.mark.parametrize("causal", [False, True])
def test_padding_changes_nothing(causal):
    encoder = Encoder(SIZES, seeded(), causal, spread=0.3)
    x = ids(2, 4)
    padded = torch.cat([x, torch.zeros(2, 3, dtype=torch.long)], 1)
    attended = torch.arange(7).expand(2, 7) < 4
    torch.testing.assert_close(encoder(padded, None, attended)[:, :4], encoder(x), rtol=0, atol=1e-6)
    other = padded.masked_fill(~attended, 7)  # what stands at padding
    assert torch.equal(encoder(other, None, attended)[:, :4], encoder(padded, None, attended)[:, :4])


def test_a_causal_one_sees_no_later_word_and_the_other_does():
    x, y = ids(1), ids(1)
    y[0, 4] = (x[0, 4] + 1) % 20
    for causal in (True, False):
        model = LanguageModel(SIZES, seeded(), causal, spread=0.3)
        same = torch.isclose(model(x), model(y), rtol=0, atol=0).all(-1)[0]
        assert same.tolist() == ([True] * 4 + [False] * 2 if causal else [False] * 6)


@pytest.mark.parametrize("causal", [False, True])
def test_dropout_comes_from_its_generator_and_its_mean_is_what_is_dropped_from(causal):
    sizes = TransformerSizes(vocabulary=20, width=8, layers=1, heads=2, inner=16, positions=10, dropout=0.2)
    x = ids(1)
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    found = [Encoder(sizes, seeded(3), causal).train()(x) for _ in range(2)]
    assert torch.equal(*found)
    assert not torch.equal(found[0], Encoder(sizes, seeded(3), causal).eval()(x))
    assert torch.equal(before, torch.random.get_rng_state())
    by_hand, torchs = (Encoder(SIZES, seeded(3), causal) for _ in range(2))
    q, k, v = (torch.randn(2, 2, 6, 4, generator=seeded(i)) for i in range(3))
    block = by_hand.blocks[0]
    block.dropout.p = 1e-12  # taken by hand, nothing dropped
    torch.testing.assert_close(block._attended(q, k, v, None), torchs.blocks[0]._attended(q, k, v, None))


def test_agreement_takes_it_in_one_pass():
    model = LanguageModel(SIZES, seeded(), True, spread=0.3)
    x = ids(8)
    losses = nn.functional.cross_entropy(model(x).transpose(1, 2), x, reduction="none").mean(1)
    record = Agreement(model, AndMask(0.5)).backward(losses, torch.arange(4).repeat_interleave(2))
    assert set(record.paths.values()) <= {"layer", "layers", "plain"}, record.paths


def test_bad_input():
    with pytest.raises(ValueError, match=r"`heads` should divide the width of 8.*Found 3"):
        TransformerSizes(vocabulary=5, width=8, heads=3)
    with pytest.raises(ValueError, match="dropout"):
        TransformerSizes(vocabulary=5, dropout=1.0)
    encoder = Encoder(SIZES, seeded())
    with pytest.raises(ValueError, match=r"at most 10 positions.*Found 11"):
        encoder(ids(1, 11))
    with pytest.raises(ValueError, match="row 1"):
        encoder(ids(2), None, torch.tensor([[True] * 6, [False] * 6]))
    with pytest.raises(TypeError, match="Generator"):
        Encoder(SIZES, 0)


def test_left_padding_stays_finite_in_train_mode():
    sizes = TransformerSizes(vocabulary=20, width=8, layers=2, heads=2, inner=16, positions=10, dropout=0.1)
    encoder = Encoder(sizes, seeded(), causal=True, spread=0.3)
    attended = torch.tensor([[False, False, True, True], [True, True, True, True]])
    hidden = encoder(ids(2, 4), None, attended)
    assert bool(hidden.isfinite().all())
    hidden[attended].square().sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in encoder.parameters() if p.grad is not None)


def test_a_query_with_no_allowed_key_gets_zeros_whatever_the_dropout():
    block = Encoder(TransformerSizes(20, 8, 1, 2, 16, 10, dropout=1e-12), seeded(), causal=True, spread=0.3).blocks[0].double()
    q, k, v = torch.randn(3, 1, 2, 4, 4, dtype=torch.float64, generator=seeded(2))
    mask = torch.tensor([[[[False] * 4, [False] * 4, [False, False, True, False], [False, False, True, True]]]])
    by_hand, torch_s = block.train()._attended(q, k, v, mask), block.eval()._attended(q, k, v, mask)
    torch.testing.assert_close(by_hand, torch_s, rtol=0, atol=1e-11)
    assert bool((by_hand[:, :, :2] == 0).all())


def test_ids_and_segments_that_there_are_not(as_installed):
    encoder = Encoder(SIZES, seeded())
    with pytest.raises(TypeError, match="`ids` should hold whole numbers"):
        encoder(ids().float())
    with pytest.raises(ValueError, match=r"`ids` should be numbers from 0 to 19. Found \d+ to 20"):
        encoder(torch.where(ids() == ids()[0, 0], 20, ids()))
    with pytest.raises(ValueError, match="`segments` should be numbers from 0 to 1"):
        encoder(ids(), ids().clamp(min=2))
