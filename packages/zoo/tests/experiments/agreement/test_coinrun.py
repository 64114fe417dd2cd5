from dataclasses import replace

import pytest
import torch

from claimlab import LabError, Rows, judge
from mechlearn_zoo.experiments.agreement.clones import make_network
from mechlearn_zoo.experiments.agreement.coinrun import EXPERIMENT, ranges
from mechlearn_zoo.experiments.agreement.coinrun import run as coinrun
from mechlearn_zoo.experiments.agreement.coinrun.measures import decoupling, reduction, within_range
from mechlearn_zoo.experiments.agreement.coinrun.optimisers import Settings, make_optimizer
from mechlearn_zoo.tasks.pictures import cloning

SMALL = replace(
    EXPERIMENT.presets["quick"].config, levels=4, states=8, validation=6, test=6, epochs=2, trials=3, finalists=2, batch=8
)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in coinrun.run(replace(SMALL, seed=seed)))


def test_both_methods_have_equal_budgets_and_finalists_are_the_best_of_their_search(rows):
    for method in coinrun.METHODS:
        for seed in (0, 1):
            trials = rows.where(kind="trial", method=method, seed=seed)
            finalists = rows.where(kind="finalist", method=method, seed=seed)
            assert (len(trials), len(finalists)) == (3, 2)
            best = sorted(trials, key=lambda row: row["validation"])[:2]
            assert [row["lr"] for row in best] == finalists["lr"]


def test_the_selected_epoch_has_the_least_held_out_divergence(rows):
    for finalist in rows.where(kind="finalist"):
        curve = rows.where(kind="curve", method=finalist["method"], rank=finalist["rank"], seed=finalist["seed"])
        chosen = min(curve, key=lambda row: row["validation"])
        assert (chosen["epoch"], chosen["test"]) == (finalist["selected_epoch"], finalist["test"])
        assert finalist["least_test"] == min(curve["test"])


def test_both_searches_start_from_the_same_trial(rows):
    shared = ("lr", "beta1", "weight_decay", "decoupled")
    firsts = [tuple(row[key] for key in shared) for row in rows.where(kind="trial", trial=1)]
    assert len(firsts) == 4
    assert all(first == pytest.approx((3e-6**0.5, 0.475, 1e-3, True)) for first in firsts)
    assert {row["lr"] for row in rows.where(kind="trial", trial=2)} != {firsts[0][0]}


def test_learning_rates_are_drawn_from_their_range(rows):
    assert all(3e-4 <= row["lr"] <= 1e-2 for row in rows.where(kind="trial"))
    settings = [
        settings for settings, _ in coinrun.search(replace(SMALL, learning_rates=(1e-5, 2e-5)), "adam", coinrun.load(SMALL))
    ]
    assert all(1e-5 <= each.lr <= 2e-5 for each in settings)


def test_with_corrected_moments_the_mask_is_all_that_differs_from_adam():
    def trained(**changes):
        network = make_network("small", 21, 4, seed=0)
        optimizer = make_optimizer(
            Settings(lr=1e-3, beta1=0.9, weight_decay=0.1, decoupled=False, **changes), list(network.parameters())
        )
        data = coinrun.load(SMALL)
        for _ in range(4):
            optimizer.zero_grad()
            coinrun.divergence(network, data.train, torch.arange(8)).mean().backward()
            optimizer.step()
        return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])

    adam, printed = trained(method="adam"), trained(method="and-mask", bias_correction="none")
    torch.testing.assert_close(trained(method="and-mask", bias_correction="moments"), adam, rtol=1e-3, atol=1e-5)
    assert (printed - adam).abs().max() > 1e-3


def test_the_correction_is_the_configs():
    config = replace(SMALL, bias_correction="none", trials=1, finalists=1, epochs=1)
    assert next(coinrun.search(config, "and-mask", coinrun.load(config)))[0].bias_correction == "none"
    assert EXPERIMENT.presets["paper"].config.bias_correction == "none"


@pytest.mark.parametrize(("values", "holds"), [((1.9, 1.8), True), ((1.9, 2.1), False), ((1.5, 2.01), False)])
def test_a_claim_holds_where_its_interval_is_above_0(values, holds):
    rows = [
        {"seed": seed, "kind": "finalist", "method": method, "test": value, "least_test": value, "decoupled": True}
        | {"threshold": 0.4, "lr": 0.007, "beta1": 0.3, "beta3": 0.7, "weight_decay": 0.05}
        for seed, masked in enumerate(values)
        for method, value in (("adam", 2.0), ("and-mask", masked))
    ]
    judged = {claim.id.split(".")[1]: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    settings = ("decoupled", "threshold", "learning-rate", "beta1", "beta3", "weight-decay")
    assert {judged.pop(name) for name in settings} == {"holds so far"}
    assert judged.pop("decoupled-better") == "not measurable here"  # it asks trials
    assert all((verdict == "holds so far") == holds for verdict in judged.values())


def test_thresholds_are_asked_for_one_by_one():
    (claim,) = [claim for claim in EXPERIMENT.claims if claim.id == "coinrun.threshold"]
    rows = [{"seed": 0, "kind": "finalist", "method": "and-mask", "threshold": value} for value in (0.2, 0.6)]
    found = judge(claim, rows, "quick")
    assert (found.measured, found.verdict) == (0, "does not hold so far")


def test_decoupled_decay_is_asked_of_the_best_trials_of_both_methods():
    def trials(**least):
        return [
            {"seed": 0, "kind": "trial", "method": method.replace("_", "-"), "decoupled": decoupled, "validation": value}
            for method, values in least.items()
            for decoupled, some in zip((False, True), values, strict=True)
            for value in some
        ]

    rows = trials(adam=((0.5, 0.3), (0.2, 0.9)), and_mask=((0.4,), (0.35, 0.8)))
    assert decoupling(Rows(rows)) == pytest.approx(0.4 - 0.35)  # Adam's is 0.1
    assert decoupling(Rows(trials(adam=((0.5,), (0.2,)), and_mask=((), (0.3,))))) is None
    assert decoupling(Rows([])) is None


def test_a_printed_range_asks_for_three_quarters_of_the_mask_s_finalists():
    finalists = [{"seed": 0, "kind": "finalist", "method": "and-mask", "beta1": value} for value in (0.3, 0.3, 0.3, 0.9)]
    assert within_range("beta1", 0.21, 0.67)(Rows(finalists)).value == pytest.approx(0.75)
    of_adam = [{**row, "method": "adam"} for row in finalists]
    assert within_range("beta1", 0.21, 0.67)(Rows(of_adam)) is None


@pytest.mark.parametrize("rates", [(1e-3,), (1e-2, 1e-3), (1e-3, 1e-3), (0.0, 1e-3), (1e-4, 1e-3, 1e-2)])
def test_bad_learning_rates_are_refused(rates):
    with pytest.raises(ValueError, match="learning_rates should be"):
        replace(SMALL, learning_rates=rates)


def test_a_search_never_looks_at_test_levels():
    data = coinrun.load(SMALL)
    blind = data._replace(test=data.test._replace(policy=torch.full_like(data.test.policy, float("nan"))))
    seen, unseen = (list(coinrun.search(SMALL, "and-mask", some)) for some in (data, blind))
    assert seen == unseen


def test_divergence_is_kl():
    data = coinrun.load(SMALL)
    network = make_network("small", 21, 4, seed=0)
    chosen = torch.arange(3)
    found = coinrun.divergence(network, data.train, chosen)
    frames = data.train.frames[:3].permute(0, 3, 1, 2).float() / 255 - 0.5
    expert = torch.distributions.Categorical(probs=data.train.policy[:3])
    clone = torch.distributions.Categorical(logits=network(frames))
    torch.testing.assert_close(found, torch.distributions.kl_divergence(expert, clone), rtol=1e-4, atol=1e-5)


def test_networks_come_from_their_seed_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    for kind in ("small", "resnet-18"):
        one, other, third = (make_network(kind, 21, 4, seed) for seed in (1, 1, 2))
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
        assert not torch.equal(next(one.parameters()), next(third.parameters()))
        assert one.eval()(torch.zeros(2, 3, 21, 21)).shape == (2, 4)
    assert torch.equal(torch.get_rng_state(), before)
    count = sum(parameter.numel() for parameter in make_network("resnet-18", 64, 15, 0).parameters())
    assert 11_100_000 < count < 11_300_000  # the usual ResNet-18


def test_a_small_network_starts_with_a_nearly_uniform_policy():
    policy = make_network("small", 21, 4, seed=0)(torch.rand(50, 3, 21, 21, generator=torch.Generator().manual_seed(0)) - 0.5)
    assert (policy.softmax(dim=1) - 0.25).abs().max() < 0.1


def test_claims_are_measured_and_figures_drawn(rows):
    judged = [judge(claim, rows, "quick") for claim in EXPERIMENT.claims if claim.id != "coinrun.decoupled-better"]
    assert all(claim.n == 2 and claim.verdict != "not measurable here" for claim in judged)
    assert set(EXPERIMENT.figures(rows)) == {"learning-curves"}


def test_reduction_is_a_share_of_adams():
    rows = Rows(
        {"seed": 0, "kind": "finalist", "method": method, "test": value} for method, value in (("adam", 2.0), ("and-mask", 1.5))
    )
    assert reduction("test")(rows).value == pytest.approx(0.25)


def test_a_search_needs_as_many_trials_as_finalists():
    with pytest.raises(ValueError, match=r"finalists should be between 1 and 3.*Found 4"):
        replace(SMALL, finalists=4)
    with pytest.raises(ValueError, match="epochs should be at least 1"):
        replace(SMALL, epochs=0)


def test_one_level_is_refused(tmp_path):
    with pytest.raises(ValueError, match="levels should be at least 2"):
        replace(SMALL, levels=1)
    data = coinrun.load(SMALL)
    one = data.train.levels == data.train.levels[0]
    alone = data._replace(train=type(data.train)(*(field[one] for field in data.train)))
    cloning.write(alone, tmp_path / "one")
    with pytest.raises(LabError, match="two training levels or more"):
        coinrun.load(replace(SMALL, recording=str(tmp_path / "one")))


def test_rows_and_caption_say_who_was_cloned(tmp_path):
    about = {"source": "Procgen CoinRun", "mode": "easy", "expert": "PPO", "expert_steps": "1441856", "expert_return": "5.700"}
    cloning.write(coinrun.load(SMALL)._replace(about=about), tmp_path / "recording")
    config = replace(SMALL, recording=str(tmp_path / "recording"), trials=1, finalists=1, epochs=1)
    rows = Rows({"seed": 0, **row} for row in coinrun.run(config))
    said = "Procgen CoinRun, easy levels (expert: PPO, 1,441,856 steps, mean return 5.700 of 10)"
    assert {row["data"] for row in rows} == {said}
    assert said in EXPERIMENT.figures(rows)["learning-curves"].get_label()


def test_a_recording_that_is_none_is_refused(tmp_path):
    with pytest.raises(LabError, match=r"^A recording should be a file that `mechlearn coinrun collect` wrote\. Found "):
        list(coinrun.run(replace(SMALL, recording=str(tmp_path / "none"))))


@pytest.mark.parametrize("method", ["adam", "and-mask"])
def test_a_sweep_trains_as_the_searches_do(method):
    swept = EXPERIMENT.ranges["quick"]
    config = replace(swept.single.config(SMALL), method=method, threshold=0.0)
    settings = Settings(method, config.lr, config.beta1, config.weight_decay, config.decoupled)
    masked = settings._replace(beta3=config.beta3, bias_correction=config.bias_correction)
    data = coinrun.load(SMALL)
    epochs = list(coinrun.train(SMALL, masked if method == "and-mask" else settings, data, SMALL.seed, measure_test=True))
    *curve, best = ranges.run_one(config)
    assert [row["validation"] for row in curve] == [epoch.validation for epoch in epochs]
    chosen = min(epochs, key=lambda epoch: epoch.validation)
    assert (best["epoch"], best["validation"], best["test"]) == (chosen.epoch, chosen.validation, chosen.test)
    assert swept.objective.of(curve) == chosen.validation
    assert ("threshold" in swept.drawn(method)) == (method == "and-mask")
