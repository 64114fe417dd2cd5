import itertools

import pytest
import torch

from mechlearn.params import count_bytes
from mechlearn_zoo.methods.language.alignment import Fillers, Padded, eager_feasible
from mechlearn_zoo.methods.language.eager import Decoding, EagerTranslator, eager_loss, greedy, stacked, translate
from mechlearn_zoo.methods.language.step_model import StepModel

FILLERS = Fillers(start=0, target=1, source=2)
END = 3


def model(words=8, width=8, seed=0, scale=1.0, layers=1):
    one = EagerTranslator(words, width, torch.Generator().manual_seed(seed), layers).double().eval()
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.mul_(scale)
    return one


def pairs():
    made = [([4, 5, 6, END], [6, 5, END], [(2, 0), (3, 2)]), ([7, END], [4, 7, 5, END], [(0, 1), (1, 3)])]
    return [eager_feasible(source, target, links, FILLERS, 1) for source, target, links in made]


def beside(one, batch):
    return [part.to(one.bias.device) for part in batch]


def test_the_loss_of_a_batch_is_that_of_each_pair_alone():
    one = model(layers=2)
    whole = eager_loss(one, *beside(one, stacked(pairs(), FILLERS)))
    alone = [eager_loss(one, *beside(one, stacked([pair], FILLERS)))[0] for pair in pairs()]
    torch.testing.assert_close(whole, torch.stack(alone))


def test_layers_are_those_of_one_lstm():
    one = model(layers=2)
    whole = torch.nn.LSTM(8, 8, 2, batch_first=True).to(one.bias)
    with torch.no_grad():
        for mine, parameter in zip(one.lstms.parameters(), whole.parameters(), strict=True):
            parameter.copy_(mine)
    source, previous, _ = beside(one, stacked(pairs(), FILLERS))
    words = torch.cat([one.embedding(source), one.embedding(previous)], -1)
    logits, state = one.read(source, previous)
    h, ends = whole(words)
    torch.testing.assert_close(logits, torch.tanh(one.to_output(h)) @ one.embedding.weight.T + one.bias)
    for part, end in zip(state, ends, strict=True):
        torch.testing.assert_close(part, end.transpose(0, 1))


@pytest.mark.parametrize("layers", [1, 2])
def test_dropout_draws_from_its_own_generator(layers):
    def found(train):
        one = EagerTranslator(8, 8, torch.Generator().manual_seed(0), layers, dropout=0.5).train(train)
        torch.manual_seed(int(train))
        before = torch.get_rng_state()
        first, again = (one.read(*beside(one, stacked(pairs(), FILLERS)[:2]))[0] for _ in range(2))
        assert torch.equal(torch.get_rng_state(), before)
        assert torch.equal(first, again) is not train
        return first

    assert torch.equal(found(True), found(True))
    assert not torch.equal(found(True), found(False))


def test_the_loss_is_the_literal_loop():
    one, (pair, _) = model(), pairs()
    state, total, previous = one.start(1), 0.0, FILLERS.start
    for x, y in zip(pair.source, pair.target, strict=True):
        inputs = torch.cat([one.embedding.weight[x], one.embedding.weight[previous]])[None, None]
        h, (hidden, cell) = one.lstms[0](inputs, tuple(part.transpose(0, 1) for part in state))
        state = (hidden.transpose(0, 1), cell.transpose(0, 1))
        o = torch.tanh(one.to_output.weight @ h[0, 0])
        total = total - (one.embedding.weight @ o + one.bias).log_softmax(0)[y]
        previous = y
    torch.testing.assert_close(eager_loss(one, *beside(one, stacked([pair], FILLERS)))[0], total / len(pair.source))


def test_it_is_a_step_model():
    source = torch.tensor([[4, 5, END], [6, END, FILLERS.source]])
    reading = model().reading(source, FILLERS.source)
    assert isinstance(reading, StepModel)
    state, outs = reading.start(2), []
    previous = torch.tensor([[0, 4, 5, 6], [0, 6, 6, END]])
    for t in range(4):
        logits, state = reading.step(previous[:, t], state)
        outs.append(logits)
    longer = torch.cat([source, torch.full((2, 1), FILLERS.source)], 1)
    torch.testing.assert_close(torch.stack(outs, 1), model().read(longer, previous)[0])


def test_the_state_is_as_large_after_eight_words_as_after_eight_hundred():
    sizes = [count_bytes(model().read(torch.full((1, n), 4), torch.full((1, n), 5))[1]) for n in (8, 800)]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("seed", range(6))
def test_greedy_is_a_beam_of_one(seed):
    one = model(seed=seed, scale=4.0)
    sources = [[4, 5, 6, END], [7, END], [5, 5, 6, 7, 4, END]]
    decoding = Decoding(FILLERS, END, start_pads=seed % 3, epsilon_limit=2, source_epsilons=3, beam=1)
    assert greedy(one, sources, decoding) == [translate(one, source, decoding).words for source in sources]


@pytest.mark.parametrize("seed", range(5))
def test_a_full_beam_is_enumeration(seed):
    """Every sequence that may be written, by hand: four words beside the fillers, at most four steps."""
    one = model(words=6, seed=seed, scale=4.0)
    source = [4, 5, END]
    found = translate(one, source, Decoding(FILLERS, END, epsilon_limit=1, source_epsilons=1, beam=10_000))
    best = None
    for length in range(3, 5):
        for words in itertools.product((FILLERS.target, 4, 5), repeat=length - 1):
            if words.count(FILLERS.target) > 1:
                continue
            target = [*words, END]
            total, state, previous, silent = 0.0, one.start(1), FILLERS.start, 0
            for t, word in enumerate(target):
                x = source[t] if t < 3 else FILLERS.source
                logits, state = one.read(torch.tensor([[x]]), torch.tensor([[previous]]), state)
                logits = logits[0, 0].clone()
                logits[[FILLERS.start, FILLERS.source]] = -torch.inf
                if t < 2:
                    logits[END] = -torch.inf
                if silent >= 1:
                    logits[FILLERS.target] = -torch.inf
                total += float(logits.log_softmax(0)[word].detach())
                silent += word == FILLERS.target
                previous = word
            if best is None or total / length > best[0]:
                best = (total / length, [word for word in words if word > 3])
    assert found.words == best[1]
    assert found.score == pytest.approx(best[0], abs=1e-9)


def test_limits_are_kept():
    one = model(seed=3, scale=6.0)
    with torch.no_grad():
        one.bias[FILLERS.target] += 20
    found = translate(one, [4, 5, END], Decoding(FILLERS, END, start_pads=1, epsilon_limit=2, source_epsilons=2, beam=3))
    assert found.steps <= 5
    assert all(word >= 4 for word in found.words)


def test_it_learns_to_copy():
    one = EagerTranslator(8, 32, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    sources = [[*torch.randint(4, 8, (4,), generator=generator).tolist(), END] for _ in range(64)]
    batch = beside(one, stacked([Padded(source, source) for source in sources], FILLERS))
    optimizer = torch.optim.Adam(one.parameters(), 0.03)
    for _ in range(60):
        optimizer.zero_grad()
        eager_loss(one, *batch).mean().backward()
        optimizer.step()
    assert greedy(one.eval(), sources, Decoding(FILLERS, END)) == [source[:-1] for source in sources]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: EagerTranslator(8, 7, torch.Generator()), "even"),
        (lambda: EagerTranslator(0, 8, torch.Generator()), "`vocabulary`"),
        (lambda: stacked([], FILLERS), "eager feasible"),
        (lambda: stacked([Padded([1], [1, 2])], FILLERS), "eager feasible"),
        (lambda: Decoding(FILLERS, 1), "no filler"),
        (lambda: Decoding(FILLERS, END, start_pads=20), "Raise `source_epsilons`"),
        (lambda: Decoding(FILLERS, END, beam=0), "`beam`"),
        (lambda: translate(model(), [4, 5], Decoding(FILLERS, END)), "close with the end"),
        (lambda: translate(model(), [], Decoding(FILLERS, END)), "close with the end"),
        (lambda: greedy(model(), [[1, END]], Decoding(FILLERS, END)), "leave fillers out"),
        (lambda: greedy(model(), [], Decoding(FILLERS, END)), "`sources` should hold one at least"),
        (lambda: model().reading(torch.ones(2, 3).long(), 2).start(3), "number of sources"),
        (lambda: eager_loss(model(), *(torch.full((1, 2), v) for v in (4, 4, -100))), "a target"),
    ],
)
def test_bad_input(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_half_types_are_summed_in_float32():
    one = model().half()
    with torch.no_grad():
        one.bias.zero_()[4] = 3000.0
    target = torch.full((1, 40), 5)
    source = torch.full((1, 40), 4)
    found = eager_loss(one, source, source, target)
    assert found.dtype == torch.float32
    assert float(found.detach()) == pytest.approx(3000, rel=0.01)


def test_words_of_a_short_type_are_words():
    one = model()
    batch = beside(one, stacked(pairs(), FILLERS))
    assert torch.equal(eager_loss(one, *(part.int() for part in batch)), eager_loss(one, *batch))
