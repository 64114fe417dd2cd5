"""Bad input: one sentence each, and no gradient touched."""

import warnings

import pytest
import torch
from torch import nn

from cpu_alone import cpu_alone
from mechlearn.agreement import Agreement, AndMask
from small_models import batch, make, squared


class TestBadInput:
    def setup_method(self):
        self.model = make("mlp", 0)
        self.agreement = Agreement(self.model, AndMask())
        self.x, self.y, self.ids = batch(0, [5, 5, 6, 6])

    def losses(self):
        return squared(self.model(self.x), self.y)

    def assert_refused(self, losses, ids, error, match):
        with pytest.raises(error, match=match):
            self.agreement.backward(losses, ids)
        assert all(p.grad is None for p in self.model.parameters())

    def test_reduced_loss(self):
        self.assert_refused(self.losses().mean(), self.ids, ValueError, "unreduced.*Found a scalar.*reduction='none'")

    def test_loss_of_two_dimensions(self):
        losses = (self.model(self.x) - self.y) ** 2
        self.assert_refused(losses, self.ids, ValueError, r"Found shape \(4, 3\).*flatten")

    def test_no_examples(self):
        self.assert_refused(self.losses()[:0], self.ids[:0], ValueError, r"Found shape \(0,\), an empty batch")

    def test_loss_without_graph(self):
        self.assert_refused(self.losses().detach(), self.ids, ValueError, "without a graph")

    def test_ids_of_wrong_length(self):
        self.assert_refused(self.losses(), [5, 6], ValueError, r"4 losses.*Found shape \(2,\)")

    @pytest.mark.parametrize("ids", [[0.0, 0.0, 1.0, 1.0], [True, True, False, False], [None] * 4])
    def test_ids_of_wrong_type(self, ids):
        self.assert_refused(self.losses(), ids, TypeError, "integers")

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_losses_that_are_not_finite_name_the_environment(self, value):
        factor = torch.tensor([1.0, 1.0, value, 1.0], dtype=torch.float64)
        self.assert_refused(self.losses() * factor, self.ids, ValueError, f"{value} in environment 6.*no gradient was changed")

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_losses_that_are_not_finite_are_a_scalers_own_matter(self, value):
        factor = torch.tensor([1.0, 1.0, value, 1.0], dtype=torch.float64)
        Agreement(self.model, AndMask(), refuse_nonfinite=False).backward(self.losses() * factor, self.ids)
        assert not all(
            bool(parameter.grad.isfinite().all()) for parameter in self.model.parameters() if parameter.requires_grad
        )

    def test_model_without_parameters(self):
        with pytest.raises(ValueError, match=r"requires a gradient\. Found none"):
            Agreement(nn.ReLU(), AndMask())

    def test_losses_of_another_model(self):
        losses = squared(make("mlp", 1)(self.x), self.y)
        self.assert_refused(losses, self.ids, ValueError, r"depend on a parameter of the model.*Found none")

    def test_unknown_statistics(self):
        with pytest.raises(ValueError, match=r"`statistics` should be None, .*Found 'frozen'"):
            Agreement(self.model, AndMask(), statistics="frozen")

    def test_batch_norm_in_train_mode(self):
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(10, 3), nn.BatchNorm1d(3)).double()
        self.agreement = Agreement(self.model, AndMask())
        self.assert_refused(self.losses(), self.ids, ValueError, "Found it in the graph.*statistics='pooled'.*GroupNorm")

    @pytest.mark.filterwarnings("ignore:.*script_method.*:DeprecationWarning")
    @pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf.*:UserWarning")
    @cpu_alone("torch.compile does not trace what puts tests' tensors on a device")
    def test_what_may_be_compiled_is_vouched_for(self):
        square = torch.compile(lambda output: output.square().mean(1), backend="aot_eager")
        expected = self.agreement.backward(self.model(self.x).square().mean(1), self.ids)
        gradients = [p.grad.clone() for p in self.model.parameters()]
        for choice, path in ((None, "per-environment"), ("independent", "layer")):
            self.model.zero_grad()
            agreement = Agreement(self.model, AndMask(), rows=choice)
            losses = square(self.model(self.x))
            if choice is None:
                with pytest.warns(UserWarning, match="torch.compile fuses what it compiles: compile through"):
                    record = agreement.backward(losses, self.ids)
            else:
                record = agreement.backward(losses, self.ids)
            assert set(record.paths.values()) == {path}
            assert record.proved == ("proved" if choice is None else "declared")
            assert record.share_by_parameter == expected.share_by_parameter
            for parameter, gradient in zip(self.model.parameters(), gradients, strict=True):
                torch.testing.assert_close(parameter.grad, gradient)

    def test_a_graph_that_was_used_up(self):
        losses = self.losses()
        losses.sum().backward()
        self.model.zero_grad()
        self.assert_refused(losses, self.ids, RuntimeError, "a forward pass of their own.*used up")
        losses = self.losses()
        self.agreement.backward(losses, self.ids)
        self.model.zero_grad()
        self.assert_refused(losses, self.ids, RuntimeError, "a forward pass of their own.*used up")

    @pytest.mark.filterwarnings("ignore:.*one backward pass for each environment")
    def test_gradients_that_are_not_finite(self):
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, gradient):
                return gradient * torch.inf

        def losses():
            return squared(Square.apply(self.model(self.x)), self.y)

        self.assert_refused(losses(), self.ids, FloatingPointError, "Found NaN or infinity in the gradient of .*GradScaler")

    @pytest.mark.filterwarnings("ignore:.*one backward pass for each environment")
    def test_a_nan_after_the_first_call_is_not_masked_away(self):
        class Poison(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, gradient):
                return gradient * self.poison

        def losses():
            return squared(Poison.apply(self.model(self.x)), self.y)

        self.poison = 1.0
        self.agreement.backward(losses(), self.ids)
        self.model.zero_grad()
        self.poison = float("nan")
        self.assert_refused(losses(), self.ids, FloatingPointError, "Found NaN or infinity in the gradient of")
        with Agreement(self.model, AndMask(), refuse_nonfinite=False) as agreement:
            self.poison = 1.0
            agreement.backward(losses(), self.ids)
            self.poison = float("nan")
            agreement.backward(losses(), self.ids)
        assert self.model.head.weight.grad.isnan().all()

    def test_single_environment_warns(self):
        with pytest.warns(UserWarning, match="All 4 losses belong to environment 7.*nothing to agree on"):
            self.agreement.backward(self.losses(), [7] * 4)

    def test_two_environments_do_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.agreement.backward(self.losses(), self.ids)

    def test_input_changed_in_place(self):
        h = self.model.body(self.x[:, 0])
        losses = squared(self.model.head(h), self.y)
        with torch.no_grad():
            h += 1
        self.assert_refused(losses, self.ids, RuntimeError, "(in-place|inplace)")
