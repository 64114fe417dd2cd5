import math

import pytest
import torch

from cpu_alone import ON_A_GPU
from mechlearn.skips import Actions, Aligned, Fixed, Greedy
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.methods.worlds.skipping import SkippingRNN, passed_over, skipped_nll
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN, memory_loss
from skipping_oracles import along

F64 = torch.float64


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(lengths=(9, 6, 2), latent=3, seed=0, dtype=F64):
    z = torch.randn(len(lengths), max(lengths), latent, generator=generator(seed), dtype=dtype)
    a = torch.randn(len(lengths), max(lengths), 2, generator=generator(seed + 1), dtype=dtype)
    return Trajectories(z, torch.tensor(lengths)), a


def memory(horizon=4, window=3, latent=3, dtype=F64, **more):
    return SkippingRNN(latent, 2 * window, 8, 2, horizon, generator(5), **more).to(dtype)


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("rewards", [False, True])
def test_along_a_trajectory_it_is_the_literal_loop(ties, rewards):
    trajectories, a = batch()
    m = memory(rewards=rewards, least_log_scale=-0.2)
    r = torch.randn(3, 9, generator=generator(9), dtype=F64) if rewards else None
    found = skipped_nll(m, trajectories, Actions(a, 3), Greedy(4, ties=ties), rewards=r)
    total = 0.0
    for b, length in enumerate(trajectories.lengths.tolist()):
        own = None if r is None else r[b]
        skips, likelihoods, jumps, errors = along(m, trajectories[b], a[b, :length], 4, 3, -0.2, ties == "last", own)
        n = len(skips)
        assert found.matched.skips[b, :n].tolist() == skips
        assert int(found.matched.steps[b]) == n
        assert found.matched.step_losses[b, :n].tolist() == pytest.approx(likelihoods, abs=1e-10)
        assert found.jumps[b, :n].tolist() == pytest.approx(jumps, abs=1e-10)
        assert not found.jumps[b, n:].any()
        if rewards:
            assert found.rewards[b, :n].tolist() == pytest.approx(errors, abs=1e-10)
        total += (sum(likelihoods) + sum(jumps) + sum(errors)) / n / 3
    assert float(found.loss.detach()) == pytest.approx(total, abs=1e-10)


def test_rests_are_left_at_once_where_the_last_of_equals_wins():
    z = torch.zeros(1, 12, 3, dtype=F64)
    actions = Actions(torch.zeros(1, 12, 2, dtype=F64), 1)
    for ties, skips in (("last", [4, 4, 3]), ("first", [1] * 11)):
        found = skipped_nll(memory(window=1), Trajectories(z, torch.tensor([12])), actions, Greedy(4, ties=ties))
        assert found.matched.skips[0].tolist() == skips


def alike(one, other):
    """Bit for bit on a CPU; up to rounding on a GPU, where cuDNN has other kernels for another number of steps, and TF32."""
    rounding = 1e-9 if one.dtype == F64 else 1e-2
    return torch.allclose(one, other, rtol=rounding, atol=rounding) if ON_A_GPU else torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, F64])
@pytest.mark.parametrize("matching", [Greedy(1), Fixed(1)])
def test_at_a_horizon_of_one_it_is_the_ordinary_likelihood_bit_for_bit(dtype, matching):
    z, a = batch((9, 9, 9, 9), dtype=dtype)
    m = memory(1, 1, dtype=dtype)
    plain = MixtureRNN(3, 2, 8, 2, False, generator(5)).to(dtype)
    plain.head.least_log_scale = -3.0
    assert all(torch.equal(m.state_dict()[name], value) for name, value in plain.state_dict().items())
    found = skipped_nll(m, z, Actions(a), matching, average="steps")
    wanted = memory_loss(plain(z.frames[:, :-1], a[:, :-1]), z.frames[:, 1:])
    assert alike(found.matched.step_losses, wanted.cpu())
    assert not found.jumps.any()
    assert alike(found.loss, wanted.mean())
    found.loss.backward()
    wanted.mean().backward()
    assert all(alike(dict(m.named_parameters())[name].grad, one.grad) for name, one in plain.named_parameters())


@pytest.mark.parametrize("dt", [1, 2, 3])
def test_a_known_path_is_what_it_is_step_by_step(dt):
    z, a = batch()
    m = memory()
    found = skipped_nll(m, z, Actions(a, 3), Fixed(dt))
    # Teacher forcing of almost 1 takes the other path, and the same frames.
    slow = skipped_nll(m, z, Actions(a, 3), Fixed(dt), teacher_forcing=1 - 1e-12, generator=generator())
    assert torch.equal(found.matched.matched, slow.matched.matched)
    torch.testing.assert_close(found.matched.step_losses, slow.matched.step_losses, rtol=0, atol=1e-12)
    torch.testing.assert_close(found.loss, slow.loss, rtol=0, atol=1e-12)
    assert found.matched.evaluations == slow.matched.evaluations
    gradients = [torch.autograd.grad(one.loss, list(m.parameters())) for one in (found, slow)]
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second, rtol=0, atol=1e-12)


def test_company_changes_nothing():
    z, a = batch()
    m = memory()
    whole = skipped_nll(m, z, Actions(a, 3), Greedy(4))
    for b in range(3):
        alone = skipped_nll(m, z[[b]], Actions(a, 3).of(z)[[b]], Greedy(4))
        torch.testing.assert_close(
            alone.loss, whole.matched.trajectory_losses[b] + whole.jumps[b].sum() / whole.matched.steps[b]
        )


def test_the_gradient_passes_through_the_winner_alone():
    """Finite differences of the loss on matches that are held: elsewhere a change of the match would show."""
    z, a = batch((8, 8))
    m = memory()
    found = skipped_nll(m, z, Actions(a, 3), Greedy(4))
    weight = m.layer.weight_hh_l0
    (gradient,) = torch.autograd.grad(found.loss, weight)
    for i, j in ((0, 0), (9, 3), (31, 7)):
        values = []
        for step in (1e-6, -1e-6):
            with torch.no_grad():
                weight[i, j] += step
                values.append(float(skipped_nll(m, z, Actions(a, 3), Greedy(4)).loss))
                weight[i, j] -= step
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(float(gradient[i, j]), abs=1e-6)


def test_exploration_and_feeding_back_draw_from_the_generator():
    z, a = batch((30, 25))
    m = memory()

    def once(seed):
        return skipped_nll(m, z, Actions(a, 3), Greedy(4, 0.5, ties="last"), teacher_forcing=0.5, generator=generator(seed))

    assert torch.equal(once(1).loss, once(1).loss)
    assert not torch.equal(once(1).matched.skips, once(2).matched.skips)
    assert once(1).matched.explored.any()


@pytest.mark.usefixtures("as_installed")
def test_rewards_of_a_jump_are_summed():
    rewards = torch.arange(10.0).view(2, 5)
    assert passed_over(rewards, torch.tensor([0, 2]), torch.tensor([3, 2]), [0, 1]).tolist() == [3, 15]
    small = torch.tensor([[1e8, 1.0, 2.0]])  # of which float32 has no sum
    assert passed_over(small, torch.tensor([1]), torch.tensor([2]), [0]).tolist() == [3]
    whole = passed_over(rewards.to(torch.int8), torch.tensor([2]), torch.tensor([2]), [1])
    assert (whole.dtype, whole.tolist()) == (torch.int64, [15])


def test_what_is_refused(as_installed):
    z, a = batch()
    actions = Actions(a, 3)
    with pytest.raises(TypeError, match=r"step by step.*Found one that predicts from several frames at once"):
        skipped_nll(memory(), z, actions, Aligned(4))
    with pytest.raises(ValueError, match=r"at most M's horizon, 2\. Found"):
        skipped_nll(memory(2), z, actions, Fixed(4))
    with pytest.raises(ValueError, match=r"`actions` should be 6 numbers.*Found 2"):
        skipped_nll(memory(), z, Actions(a), Greedy(4))
    with pytest.raises(ValueError, match=r"latents \(5,\)"):
        skipped_nll(memory(latent=5), z, actions, Greedy(4))
    with pytest.raises(ValueError, match=r"both predicted and given\. Found no rewards"):
        skipped_nll(memory(rewards=True), z, actions, Greedy(4))
    with pytest.raises(ValueError, match="`rewards` should be 8 finite numbers"):
        skipped_nll(memory(rewards=True), z, actions, Greedy(4), rewards=torch.full((3, 9), math.nan))
    with pytest.raises(TypeError, match="`memory` should be a SkippingRNN"):
        skipped_nll(MixtureRNN(3, 6, 8, 2, False, generator()), z, actions, Greedy(4))
    with pytest.raises(ValueError, match="`horizon` should be at least 1"):
        memory(0)


@pytest.mark.usefixtures("as_installed")
def test_other_kinds_and_frames_that_there_are_not_are_refused():
    z, a = batch()
    with pytest.raises(TypeError, match="`matching` should be"):
        skipped_nll(memory(), z, Actions(a, 3), 3)
    rewards, begun, skips = torch.zeros(2, 6), torch.tensor([0, 5]), torch.tensor([1, 1])
    assert passed_over(rewards, begun, skips, [0, 1]).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"`begun \+ skips` should be numbers from 0 to 6\. Found 1 to 7"):
        passed_over(rewards, begun, torch.tensor([1, 2]), [0, 1])
    with pytest.raises(ValueError, match="`rows` should be numbers from 0 to 1"):
        passed_over(rewards, begun, skips, [0, 2])
    with pytest.raises(TypeError, match="`begun` should hold whole numbers"):
        passed_over(rewards, begun.float(), skips, [0, 1])
