import math

import pytest
import torch

import distill_worlds_oracles as oracles
from mechlearn_zoo.tasks.boards.noisy_labels import noisy_labels


def test_shapes():
    found = noisy_labels(0, inputs=6, examples=20, privileged=5, selection=7, test=8)
    assert found.data.train.x.shape == (20, 6)
    assert found.data.train.privileged.shape == (20, 5)
    assert [len(split.y) for split in found.data] == [20, 7, 8]
    assert found.test_probabilities.shape == (8, 4)


def test_the_privileged_data_determine_the_probabilities():
    """x* = B h: one linear map leads from x* back to the logits, up to the constant that softmax ignores."""
    found = noisy_labels(1, inputs=6, examples=5, test=60)
    logits = found.test_probabilities.log()
    logits = (logits - logits.mean(1, keepdim=True)).double()
    x_star = found.data.test.privileged.double()
    assert torch.linalg.matrix_rank(x_star, rtol=1e-4) == 4
    recovered = x_star @ torch.linalg.pinv(x_star, rtol=1e-4) @ logits
    torch.testing.assert_close(recovered, logits, atol=1e-4, rtol=1e-3)


def test_labels_follow_the_probabilities():
    found = noisy_labels(2, inputs=6, examples=5, logit_scale=3.0, test=40_000)
    frequency = torch.nn.functional.one_hot(found.data.test.y, 4).float()
    torch.testing.assert_close(frequency.mean(0), found.test_probabilities.mean(0), atol=0.01, rtol=0)
    sure = found.test_probabilities[:, 0] > 0.5
    assert abs(float(frequency[sure, 0].mean() - found.test_probabilities[sure, 0].mean())) < 0.02


def test_the_bayes_loss_is_the_mean_entropy_and_the_loss_of_the_true_probabilities():
    found = noisy_labels(3, inputs=6, examples=5, test=20_000)
    literal = [oracles.entropy(row) for row in found.test_probabilities[:200].double().tolist()]
    torch.testing.assert_close(
        -(found.test_probabilities * found.test_probabilities.log()).sum(1)[:200].double(),
        torch.tensor(literal).double(),
        rtol=1e-6,  # of float32, on whatever processor
        atol=1e-6,
    )
    loss = -found.test_probabilities.log()[torch.arange(20_000), found.data.test.y].mean()
    assert float(loss) == pytest.approx(found.bayes_loss, abs=0.01)


def test_the_released_factor_sharpens_labels_and_scales_the_privileged_data():
    one, three = noisy_labels(4, logit_scale=1.0), noisy_labels(4, logit_scale=3.0)
    assert three.bayes_loss < one.bayes_loss
    scales = three.data.train.privileged.std() / one.data.train.privileged.std()
    assert float(scales) == pytest.approx(3, rel=1e-4)


def test_the_seed_decides_and_the_global_generator_is_left_alone():
    before = torch.random.get_rng_state()
    a, b = noisy_labels(5, examples=10), noisy_labels(5, examples=10)
    assert torch.equal(a.data.train.y, b.data.train.y)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(("name", "value"), [("examples", 0), ("privileged", 0), ("logit_scale", 0.0)])
def test_bad_settings_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"`{name}` should be .* Found 0"):
        noisy_labels(0, **{name: value})


def test_classes_without_probability_add_nothing_to_the_bayes_loss():
    found = noisy_labels(6, inputs=6, examples=5, logit_scale=1000.0, test=200)
    assert (found.test_probabilities == 0).any()
    literal = [-sum(p * math.log(p) for p in row if p > 0) for row in found.test_probabilities.double().tolist()]
    assert found.bayes_loss == pytest.approx(sum(literal) / 200, rel=1e-5)
