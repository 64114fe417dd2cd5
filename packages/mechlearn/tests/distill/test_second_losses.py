"""What stands beside a second loss: the divergence from a privileged teacher, the shuffled control, the fork."""

import io
import math

import pytest
import torch
from torch import nn

from mechlearn.distill import Fork, privileged_divergence, shuffle_contexts


def softmax(row):
    powers = [math.exp(value) for value in row]
    return [power / sum(powers) for power in powers]


def divergence(student, teacher, kind, top=None):
    """Return one token's divergence, word by word."""
    p, q = softmax(student), softmax(teacher)
    if top is not None:
        best = sorted(range(len(q)), key=lambda word: -q[word])[:top]
        p, q = ([*(one[word] for word in best), 1 - sum(one[word] for word in best)] for one in (p, q))
    if kind == "jensen-shannon":
        m = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
        return (kl(p, m) + kl(q, m)) / 2
    return kl(p, q) if kind == "reverse" else kl(q, p)


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def tokens(seed=0):
    generator = torch.Generator().manual_seed(seed)
    student, teacher = 2 * torch.randn(2, 3, 4, 7, dtype=torch.float64, generator=generator)
    mask = torch.tensor([[True, True, False, False], [True, False, False, True], [False] * 4])
    return student.requires_grad_(), teacher.requires_grad_(), mask


@pytest.mark.parametrize("top", [None, 1, 3])
@pytest.mark.parametrize("kind", ["reverse", "forward", "jensen-shannon"])
def test_the_divergence_is_its_definition_token_by_token(kind, top):
    student, teacher, mask = tokens()
    found = privileged_divergence(student, teacher, mask, kind, top=top)
    for b, t in [(b, t) for b in range(3) for t in range(4)]:
        expected = divergence(student[b, t].tolist(), teacher[b, t].tolist(), kind, top) if mask[b, t] else 0.0
        assert found[b, t].item() == pytest.approx(expected, rel=1e-10, abs=1e-14)
    found.sum().backward()
    assert teacher.grad is None
    assert not student.grad[~mask].any()
    assert torch.isfinite(student.grad).all()


def test_gradients_of_the_divergence():
    student, teacher, mask = tokens(1)
    for kind in ("reverse", "forward", "jensen-shannon"):
        torch.autograd.gradcheck(lambda s, kind=kind: privileged_divergence(s, teacher, mask, kind, top=3), student)


def test_what_is_no_divergence_is_said():
    student, teacher, mask = (one.detach() if one.is_floating_point() else one for one in tokens())
    with pytest.warns(UserWarning, match=r"Found equal distributions for all tokens\. Give the teacher its context"):
        assert not privileged_divergence(student, student, mask).any()
    with pytest.raises(ValueError, match=r"`teacher_logits` should have the shape \(3, 4, 7\)"):
        privileged_divergence(student, teacher[..., :6], mask)
    with pytest.raises(ValueError, match=r"`mask` should be True for at least one token"):
        privileged_divergence(student, teacher, mask & False)
    with pytest.raises(ValueError, match=r"`teacher_logits` should be finite\. Found -inf"):
        privileged_divergence(student, teacher.clone().index_fill_(2, torch.tensor(2), -torch.inf), mask)
    with pytest.raises(ValueError, match=r"`top` should be below the vocabulary's size 7"):
        privileged_divergence(student, teacher, mask, top=7)
    with pytest.raises(ValueError, match=r"`kind` should be"):
        privileged_divergence(student, teacher, mask, "sideways")


def test_whole_questions_move():
    """No row keeps its question's context, while moving by one row leaves three of four rollouts with it."""
    questions = torch.arange(8).repeat_interleave(4)
    moved = shuffle_contexts(questions, questions)
    assert not (moved == questions).any()
    assert sorted(moved.tolist()) == questions.tolist()
    for question in range(8):
        assert len(set(moved[questions == question].tolist())) == 1
    assert int((questions.roll(1) == questions).sum()) == 24


def test_contexts_of_any_kind_and_unequal_numbers(as_installed):
    questions = ["a", "b", "a", "a", "c"]
    assert shuffle_contexts(["a0", "b0", "a1", "a2", "c0"], questions) == ["b0", "c0", "b0", "b0", "a0"]
    with pytest.raises(ValueError, match=r"`questions` should be an id for each row of `contexts`\. Found 5 and 1"):
        shuffle_contexts(["a"], questions)
    for given in ((None, questions), (questions, 3), (questions, None)):
        with pytest.raises(TypeError, match="should be a tensor or a sequence with an entry for each row"):
            shuffle_contexts(*given)
    with pytest.raises(TypeError, match="`questions` should hold data"):
        shuffle_contexts(questions, torch.ones(5, device="meta"))
    with pytest.raises(ValueError, match=r"`questions` should have the shape \(B,\)\. Found \(5, 1\)"):
        shuffle_contexts(questions, torch.ones(5, 1))
    with pytest.raises(ValueError, match=r"`contexts` should have the shape \(\.\.\., n\)\. Found \(\)"):
        shuffle_contexts(torch.tensor(1.0), questions)
    with pytest.raises(ValueError, match=r"at least two different ids\. Found 1"):
        shuffle_contexts(torch.zeros(3, 2), [0, 0, 0])


def line(value):
    module = nn.Linear(1, 1, bias=False)
    nn.init.constant_(module.weight, value)
    return module


def move(fork, model, twin):
    with torch.no_grad():
        fork.model.weight.fill_(model)
        fork.twin.weight.fill_(twin)
    fork.step()


def weight(module):
    return module.weight.item()


def test_a_fork_keeps_each_branch_at_its_best():
    fork = Fork(line(0.0), weight, every=2)
    for calls, (model, twin) in enumerate([(9.0, 9.0), (2.0, 1.0), (1.0, 1.5), (1.0, 1.5)]):
        if calls < 2:
            rule = r"`step` should be called at least 2 times before `choose`\."
            with pytest.raises(ValueError, match=rf"{rule} Found {calls} calls\. Lower `every`"):
                fork.choose()
        move(fork, model, twin)
    chosen = fork.choose()
    assert chosen[:4] == ("model", 2.0, 0.5, 2)
    assert chosen.state["weight"].item() == 2.0


def test_of_equal_branches_the_twin_is_chosen():
    fork = Fork(line(0.0), weight, every=1)
    move(fork, 3.0, 3.0)
    assert fork.choose()[:3] == ("twin", 3.0, 0.0)


def test_a_fork_resumes():
    one, other = Fork(line(0.0), weight, every=2), Fork(line(0.0), weight, every=2)
    for model, twin in [(1.0, 1.0), (2.0, 1.0), (3.0, 4.0)]:
        move(one, model, twin)
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert other.twin.weight.item() == 4.0
    for fork in (one, other):
        move(fork, 3.0, 5.0)
    assert one.choose()[:4] == other.choose()[:4] == ("twin", 5.0, -2.0, 4)


def test_a_metric_is_a_finite_number():
    with pytest.raises(ValueError, match=r"`metric` should return a finite number\. Found nan"):
        Fork(line(0.0), lambda _: math.nan)
    with pytest.raises(TypeError, match=r"`metric` should return a number\. Found NoneType"):
        Fork(line(0.0), lambda _: None)
    with pytest.raises(ValueError, match=r"`every` should be"):
        Fork(line(0.0), weight, every=0)


@pytest.mark.usefixtures("as_installed")
def test_a_metric_is_a_function():
    with pytest.raises(TypeError, match=r"`metric` should be a function from a module to its held-out score\. Found 3"):
        Fork(line(0.0), 3)
