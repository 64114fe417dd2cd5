import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from mechlearn.surfaces import balanced, rescale_units


def model():
    torch.manual_seed(1)
    layers = (
        nn.Conv2d(1, 3, 3), nn.LeakyReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 1), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2),
    )  # fmt: skip
    return nn.Sequential(*layers).double()


FACTORS = [torch.tensor([1.0, 5.0, 0.1]), torch.tensor([3.0, 0.3, 1.0, 9.0])]
X = torch.randn(6, 1, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_rescaled_and_balanced_networks_compute_the_same():
    one = model()
    other = rescale_units(one, FACTORS)
    torch.testing.assert_close(other(X), one(X), rtol=1e-12, atol=1e-12)
    assert not torch.allclose(other[0].weight, one[0].weight)
    torch.testing.assert_close(balanced(one)(X), one(X), rtol=1e-12, atol=1e-12)


def test_the_balanced_form_is_one_and_equalises_norms():
    one = model()
    found, other = balanced(one), balanced(rescale_units(one, FACTORS))
    for name, parameter in found.named_parameters():
        torch.testing.assert_close(other.get_parameter(name), parameter, rtol=1e-12, atol=1e-13)
    first, second, last = found[0].weight, found[3].weight, found[6].weight
    torch.testing.assert_close(first.flatten(1).norm(dim=1), second.transpose(0, 1).flatten(1).norm(dim=1), rtol=1e-13, atol=0)
    torch.testing.assert_close(
        second.flatten(1).norm(dim=1), last.view(2, 4, 4).transpose(0, 1).flatten(1).norm(dim=1), rtol=1e-13, atol=0
    )
    squares = [sum(float(net[i].weight.detach().square().sum()) for i in (0, 3, 6)) for net in (found, one)]
    assert squares[0] < squares[1]


def test_dead_units_stay():
    one = model()
    one[0].weight.data[1] = 0
    found = balanced(one)
    assert bool(torch.isfinite(found[6].weight).all())
    torch.testing.assert_close(found(X), one(X), rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    with pytest.raises(ValueError, match="Found Tanh at '1'"):
        balanced(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)))
    with pytest.raises(ValueError, match="two layers or more"):
        balanced(nn.Sequential(nn.Linear(2, 2)))
    with pytest.raises(TypeError, match="Sequential"):
        balanced(nn.Linear(2, 2))
    with pytest.raises(ValueError, match=r"\[3, 4\]. Found \[3\]"):
        rescale_units(model(), FACTORS[:1])
    with pytest.raises(ValueError, match="positive"):
        rescale_units(model(), [-FACTORS[0], FACTORS[1]])


SHARED, TIED, NORMED = nn.Linear(4, 4), nn.Linear(4, 4), weight_norm(nn.Linear(4, 4))
TIED.weight = SHARED.weight


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("layers", "found"),
    [
        ([NORMED, nn.ReLU(), nn.Linear(4, 1)], "such as weight norm, at '0'"),
        ([SHARED, nn.ReLU(), SHARED, nn.ReLU(), nn.Linear(4, 1)], "again at '2'"),
        ([SHARED, nn.ReLU(), TIED, nn.ReLU(), nn.Linear(4, 1)], "again at '2'"),
        ([nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Linear(8, 5)], "at '2'"),
        ([nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Linear(4, 5)], "at '2'"),
        ([nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(2), nn.Linear(64, 5)], r"Flatten\(start_dim=2.*at '3'"),
        ([nn.Conv2d(1, 4, 3), nn.Flatten(), nn.MaxPool1d(2), nn.Linear(32, 5)], "at '3'"),
        ([nn.Conv1d(1, 4, 3), nn.MaxPool2d(3, 1, 1), nn.Conv1d(4, 1, 3)], "at '2'"),
        ([nn.Linear(3, 8), nn.MaxPool1d(2), nn.Linear(4, 1)], "at '2'"),
        ([nn.Linear(3, 8), nn.Flatten(), nn.Linear(16, 1)], "at '2'"),
        ([nn.Linear(3, 8), nn.Conv1d(8, 1, 1)], "at '1'"),
    ],
)
def test_networks_that_would_compute_something_else_are_refused(layers, found):
    with pytest.raises(ValueError, match=found):
        balanced(nn.Sequential(*layers))


def test_places_of_channels_that_are_put_in_a_row():
    torch.manual_seed(2)
    act = nn.ReLU()  # may occur twice: it has no weights
    one = nn.Sequential(
        nn.Conv2d(1, 3, 3), act, nn.Flatten(2), nn.Conv1d(3, 2, 2), nn.MaxPool1d(3), act, nn.Flatten(), nn.Linear(10, 2), act
    ).double()
    torch.testing.assert_close(balanced(one)(X), one(X), rtol=1e-12, atol=1e-12)
