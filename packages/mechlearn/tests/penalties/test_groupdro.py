import pytest
import torch

from mechlearn.penalties import group_dro_loss

LOSSES, IDS = torch.tensor([0.5, 1.5, 3.0, 1.0]), torch.tensor([0, 0, 1, 1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_algorithm_one(dtype):
    losses, weights = LOSSES.to(dtype), torch.tensor([0.25, 0.75], dtype=dtype)
    loss, found = group_dro_loss(losses, IDS, weights, 0.1)
    wanted = weights * torch.exp(0.1 * torch.tensor([1.0, 2.0], dtype=dtype))
    torch.testing.assert_close(found, wanted / wanted.sum())
    torch.testing.assert_close(loss, found[0] * 1 + found[1] * 2)


@pytest.mark.usefixtures("as_installed")
def test_a_weight_of_zero_stays_and_whole_ones_are_weights():
    assert group_dro_loss(LOSSES, IDS, torch.tensor([0.0, 1.0]))[1].tolist() == [0, 1]
    assert torch.equal(group_dro_loss(LOSSES, IDS, torch.tensor([1, 1]))[1], group_dro_loss(LOSSES, IDS, torch.ones(2))[1])


@pytest.mark.parametrize(
    ("weights", "kind", "sentence"),
    [
        (torch.tensor([0.5, -0.5]), ValueError, r"`weights` should be finite and at least 0\. Found -0\.5 to 0\.5\. Begin"),
        (torch.tensor([0.5, torch.nan]), ValueError, "finite and at least 0. Found nan"),
        (torch.tensor([0.5, torch.inf]), ValueError, r"finite and at least 0\. Found 0\.5 to inf"),
        (torch.zeros(2), ValueError, r"`weights` should not all be 0: no environment would count\. Found only 0"),
        (torch.ones(3), ValueError, r"one for each of the 2 environments.*Found shape \(3,\)"),
        ([0.5, 0.5], TypeError, "`weights` should be a tensor"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_weights_that_are_none(weights, kind, sentence):
    with pytest.raises(kind, match=sentence):
        group_dro_loss(LOSSES, IDS, weights)


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_a_loss_that_is_not_finite_makes_no_weights(bad):
    losses = LOSSES.clone()
    losses[2] = bad
    with pytest.raises(ValueError, match=rf"`losses` should be finite\. Found {bad} at \(2,\)"):
        group_dro_loss(losses, IDS, torch.ones(2))


def test_a_step_beyond_the_type_makes_no_weights():
    with pytest.raises(ValueError, match="Lower the step size"):
        group_dro_loss(LOSSES * 1e10, IDS, torch.ones(2), 1e30)
