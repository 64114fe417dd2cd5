"""Gradients that are taken without a copy: only where nobody else can see their memory."""

import pytest
import torch
from torch import nn

from cpu_alone import cpu_alone
from mechlearn.agreement import Agreement, Mean
from mechlearn.agreement.engine.delivery import taken


def memory(tensor):
    return tensor.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    "make", [lambda: torch.randn(3, 4), lambda: torch.randn(4, 3).t().contiguous(), lambda: torch.randn(12).view(3, 4)]
)
def test_a_gradient_of_ours_alone_is_not_copied(make):
    with torch.no_grad():
        gradients = [make()]
        where = memory(gradients[0])
        assert memory(taken(gradients, 0)) == where
    assert gradients == [None]
    assert taken(gradients, 0) is None


HOLDERS = {
    "the tensor": lambda g: g,
    "a view": lambda g: g[0],
    "an alias": lambda g: g.detach(),
    "an array": lambda g: g.numpy(),
    "a node": lambda g: (torch.ones(3, 4, requires_grad=True) * g).grad_fn,
}


ARRAY = cpu_alone("an array shares its memory with a tensor")


@pytest.mark.parametrize("how", [pytest.param(how, marks=ARRAY if how == "an array" else ()) for how in HOLDERS])
def test_a_gradient_that_somebody_holds_is_copied(how):
    gradients = [torch.randn(3, 4)]
    held, where, value = HOLDERS[how](gradients[0]), memory(gradients[0]), gradients[0].clone()
    found = taken(gradients, 0)
    assert memory(found) != where
    assert torch.equal(found, value)
    del held


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(3, 1).expand(3, 4),
        lambda: torch.randn(4, 3).t(),
        lambda: torch.randn(6, 4)[:3],
        lambda: torch.eye(3).to_sparse(),
    ],
)
def test_what_is_expanded_turned_a_part_or_sparse_is_copied(make):
    gradients = [make()]
    value = gradients[0].to_dense().clone()
    found = taken(gradients, 0)
    assert found.is_contiguous()
    assert found.untyped_storage().nbytes() == found.nbytes
    assert torch.equal(found, value)


class Sums(nn.Module):
    """Two parameters that autograd gives one gradient, one that is a view of another's, and one that is the losses."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(4, 3))
        self.flat, self.loss = nn.Parameter(torch.randn(12)), nn.Parameter(torch.randn(4))

    def forward(self, keep):
        both = self.one + self.other + self.flat.view(4, 3)
        both.register_hook(lambda g: keep.extend([g, g[0]]))
        return (both * torch.full((4, 3), 3.0)).sum(1) + self.loss


@pytest.mark.filterwarnings("ignore:All . losses belong to environment 0")
@pytest.mark.parametrize("ids", [[0, 0, 1, 1], [0, 0, 0, 0]])
def test_no_two_gradients_share_memory(ids):
    model, keep = Sums(), []
    Agreement(model, Mean()).backward(model(keep), torch.tensor(ids))
    values = [t.clone() for t in keep]
    places = [memory(parameter.grad) for parameter in model.parameters()]
    assert len({*places, *map(memory, keep)}) == len(places) + len(set(map(memory, keep)))
    for parameter in model.parameters():
        torch.testing.assert_close(
            parameter.grad, torch.full_like(parameter, 0.25 if parameter.dim() == 1 and len(parameter) == 4 else 0.75)
        )
        parameter.grad.add_(1)
    assert all(map(torch.equal, keep, values))


@pytest.mark.filterwarnings("ignore:All . losses belong to environment 0")
def test_one_environment_and_weights_used_twice():
    torch.manual_seed(0)
    layer = nn.Linear(3, 3)
    x = torch.randn(5, 3)
    expected = torch.autograd.grad(layer(layer(x)).square().sum(1).mean(), [*layer.parameters()])
    for _ in range(2):
        Agreement(layer, Mean()).backward(layer(layer(x)).square().sum(1), torch.zeros(5, dtype=torch.long))
    for parameter, gradient in zip(layer.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, 2 * gradient)
