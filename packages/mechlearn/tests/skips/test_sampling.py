import pytest
import torch
from torch import nn

from mechlearn.losses import BinaryCrossEntropyWithLogits, GaussianNLL
from mechlearn.skips import Aligned, Dynamics, Fixed, Greedy, Sampled, match, rollout
from mechlearn.testing import check_matching
from mechlearn.trajectories import Trajectories

GAUSSIAN = Sampled(lambda z, noise: z[:, 0] + (z[:, 1] / 2).exp() * noise)


class Gaussian(nn.Module):
    """Keeps the state, with a log-variance of -2."""

    def __init__(self):
        super().__init__()
        self.mean, self.log_variance = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(-2.0))

    def forward(self, frames):
        return torch.stack([self.mean * frames, self.log_variance.expand_as(frames)], dim=1)


def walks(lengths=(9, 4, 12)):
    g = torch.Generator().manual_seed(0)
    return Trajectories.from_list([torch.randn(n, 2, generator=g).cumsum(0) for n in lengths])


def dynamics(feedback=GAUSSIAN):
    return Dynamics(Gaussian(), GaussianNLL(), feedback=feedback)


def each(seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_with_a_generator_each_company_and_order_do_not_matter(epsilon, mu):
    x = walks()

    def losses(order):
        found = match(dynamics(), x[order], Greedy(3, mu), teacher_forcing=epsilon, generator=each(order))
        return dict(zip(order, found.trajectory_losses.tolist(), strict=True))

    together = losses([0, 1, 2])
    assert together == pytest.approx(losses([2, 0, 1]))
    for b in range(3):
        assert losses([b])[b] == pytest.approx(together[b])


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("matching", [Greedy(3), Greedy(3, 0.5), Fixed(2)])
def test_two_batches_give_what_one_gives(epsilon, matching):
    def losses(*parts):
        generator = torch.Generator().manual_seed(0)
        found = [match(dynamics(), part, matching, teacher_forcing=epsilon, generator=generator) for part in parts]
        return torch.cat([one.trajectory_losses for one in found])

    x = walks()
    torch.testing.assert_close(losses(x), losses(x[:2], x[2:]))


def test_samples_follow_the_prediction_and_pass_the_gradient():
    x = Trajectories(torch.zeros(4000, 3, 1), torch.full((4000,), 3))
    generator = torch.Generator().manual_seed(0)
    found = rollout(dynamics(), x.first(), max_steps=1, generator=generator).trajectories.frames[:, 1]
    assert found.mean().abs() < 0.02
    assert found.var().log() == pytest.approx(-2.0, abs=0.1)
    f = Gaussian()
    generator = torch.Generator().manual_seed(0)
    one = match(Dynamics(f, GaussianNLL(), feedback=GAUSSIAN), walks(), Fixed(1), teacher_forcing=0.0, generator=generator)
    other = match(Dynamics(f, GaussianNLL()), walks(), Fixed(1), teacher_forcing=0.0)
    grads = [torch.autograd.grad(loss, list(f.parameters())) for loss in (one.loss, other.loss)]
    assert all(gradient.isfinite() for pair in grads for gradient in pair)
    assert grads[0][1] != grads[1][1]


def test_roll_outs_do_not_depend_on_when_others_stop():
    first = walks().first()

    def roll(order, stop=None):
        found = rollout(dynamics(), first[order], max_steps=6, stop=stop, generator=each(order))
        return dict(zip(order, found.trajectories.to_list(), strict=True))

    alone, together = roll([2]), roll([0, 1, 2], stop=lambda frames: (frames[:, 0] != frames[:, 0]) | (frames[:, 1] > 0.5))
    assert torch.equal(alone[2][: len(together[2])], together[2])
    shared = [
        rollout(dynamics(), first[rows], max_steps=4, generator=g).trajectories.frames
        for g in [torch.Generator().manual_seed(0)]
        for rows in ([0], [1, 2])
    ]
    whole = rollout(dynamics(), first, max_steps=4, generator=torch.Generator().manual_seed(0)).trajectories.frames
    assert torch.equal(torch.cat(shared), whole)


def test_bernoulli_pixels_and_a_noise_of_another_shape():
    pixels = Sampled(lambda z, noise: (noise < z.sigmoid()).float(), "uniform")
    found = rollout(
        Dynamics(torch.zeros_like, BinaryCrossEntropyWithLogits(), feedback=pixels),
        torch.zeros(1, 40, 40),
        max_steps=1,
        generator=torch.Generator().manual_seed(0),
    )
    assert 0.45 < found.trajectories.frames[0, 1].mean() < 0.55
    one = Sampled(lambda z, noise: z[:, 0] + noise, shape=(1,))
    moved = rollout(
        dynamics(one), torch.zeros(3, 2), max_steps=1, generator=torch.Generator().manual_seed(0)
    ).trajectories.frames
    assert torch.equal(moved[:, 1, 0], moved[:, 1, 1])


def test_an_alignment_of_predictions_samples_too():
    x = walks()
    found = match(dynamics(), x, Aligned(3, "predictions"), generator=each([0, 1, 2])).trajectory_losses
    alone = match(dynamics(), x[[1]], Aligned(3, "predictions"), generator=each([1])).trajectory_losses
    torch.testing.assert_close(found[[1]], alone)


def test_true_frames_need_no_noise_and_no_global_generator_is_touched():
    before = torch.get_rng_state()
    match(dynamics(), walks(), Greedy(3))
    match(dynamics(), walks(), Greedy(3), teacher_forcing=0.0, generator=torch.Generator().manual_seed(0))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: match(dynamics(), walks(), Greedy(3), teacher_forcing=0.0), TypeError, "feedback that samples. Found None"),
        (lambda: rollout(dynamics(), walks().first(), max_steps=2), TypeError, "Found None. Pass torch.Generator"),
        (lambda: dynamics().fed(torch.zeros(1, 2, 2), (2,)), TypeError, "a stream of noise for each prediction"),
    ],
)
def test_what_cannot_be_is_refused(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_matchings_are_as_they_were():
    check_matching(Greedy(3, 0.5))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_uniform_noise_stays_below_1(dtype):
    sampled = Sampled(lambda _, noise: noise, "uniform", (5000,))
    found = sampled.drawn(torch.zeros(1, 5000, dtype=dtype), (5000,), each([0]))
    assert found.dtype == dtype
    assert float(found.max()) < 1
    assert torch.equal(found[0], torch.rand(5000, generator=each([0])[0]).to(dtype).clamp(max=float(found.max())))
