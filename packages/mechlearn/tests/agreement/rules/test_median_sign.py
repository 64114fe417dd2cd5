import torch

from mechlearn.agreement.rules import MedianSign, Statistics


def vote(g, threshold=0.0):
    return MedianSign(threshold)(Statistics(len(g), g.sum(0), g.sign().sum(0)))


def test_without_zeros_and_an_odd_number_it_is_the_sign_of_the_median():
    g = torch.randn(7, 100, generator=torch.Generator().manual_seed(0))
    assert torch.equal(vote(g).gradient, g.median(0).values.sign())


def test_an_outlier_has_one_vote():
    g = torch.tensor([[1.0], [1.0], [-1000.0]])
    assert vote(g).gradient.tolist() == [1.0]


def test_ties_and_abstentions():
    g = torch.tensor([[1.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = vote(g)
    assert found.gradient.tolist() == [0.0, 1.0, 0.0]
    assert found.survives.bool().tolist() == [False, True, False]
    assert vote(g, 0.5).gradient.tolist() == [0.0, 0.0, 0.0]


def test_sign_sums_in_bytes_vote_alike():
    g = torch.randn(9, 50, generator=torch.Generator().manual_seed(1))
    found = MedianSign(0.3)(Statistics(9, g.sum(0), g.sign().sum(0).to(torch.int8)))
    assert torch.equal(found.gradient, vote(g, 0.3).gradient)
    assert found.gradient.dtype == torch.float32
