import numpy as np
import pytest
import torch
from torch import nn

from mechlearn.losses import BinaryCrossEntropyWithLogits, GaussianNLL, SquaredError
from mechlearn.skips import Dynamics, Greedy, States, match, rollout
from mechlearn.skips.matchings.ranking import Ranker
from mechlearn.skips.observed.states import RankableStateLoss, StateLoss
from mechlearn.trajectories import Trajectories

LENGTHS = (9, 4, 7)


def worlds(like=dict):
    g = torch.Generator().manual_seed(0)
    return [
        like(
            {
                "image": torch.randint(0, 256, (n, 3, 4), generator=g, dtype=torch.uint8),
                "place": torch.randn(n, 2, generator=g).cumsum(0),
                "speed": torch.randn(n, generator=g),
            },
            n,
        )
        for n in LENGTHS
    ]


PLAIN = worlds(lambda entries, _: entries)
LOSSES = {"image": BinaryCrossEntropyWithLogits(), "place": GaussianNLL("sum"), "speed": SquaredError()}
WEIGHTS = {"image": 2.0, "place": 0.5}


def states():
    return States.of(PLAIN[0], {"image": 1 / 255})


class Model(nn.Module):
    """From a dictionary to a dictionary, with two numbers for each place."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.image, self.place = nn.Linear(12, 12), nn.Linear(2, 4)

    def forward(self, entries):
        return {
            "speed": entries["speed"] * 0.9,  # in another order
            "image": self.image(entries["image"].flatten(1)).reshape(-1, 3, 4),
            "place": self.place(entries["place"]).reshape(-1, 2, 2),
        }


def test_packing_is_undone():
    layout = states()
    x = layout.trajectories(PLAIN)
    assert x.frame_shape == (12 + 2 + 1,)
    for own, world in zip(x, PLAIN, strict=True):
        back = layout.unpacked(own)
        torch.testing.assert_close(back["image"], world["image"].float() / 255)
        assert torch.equal(back["place"], world["place"])
        assert torch.equal(back["speed"], world["speed"])
    assert layout.unpacked(x.frames)["image"].shape == (3, 9, 3, 4)


def test_tensordicts_and_numpy_are_taken():
    tensordict = pytest.importorskip("tensordict")
    expected = states().trajectories(PLAIN).frames
    for like in (
        lambda entries, n: tensordict.TensorDict(entries, batch_size=[n]),
        lambda entries, _: {name: each.numpy() for name, each in entries.items()},
    ):
        assert torch.equal(States.of(worlds(like)[0], {"image": 1 / 255}).trajectories(worlds(like)).frames, expected)


def test_the_loss_is_the_weighted_sum_of_the_entries():
    layout = states()
    x, f, loss = layout.trajectories(PLAIN), Model(), layout.loss(LOSSES, WEIGHTS)
    made, true = f(layout.unpacked(x.frames[0])), layout.unpacked(x.frames[1])
    found = loss(layout.model(f, LOSSES)(x.frames[0]), x.frames[1])
    torch.testing.assert_close(
        found,
        2 * LOSSES["image"](made["image"], true["image"])
        + 0.5 * LOSSES["place"](made["place"], true["place"])
        + LOSSES["speed"](made["speed"], true["speed"]),
    )
    assert loss.prediction_shape((15,)) == (12 + 4 + 1,)
    frame = layout.unpacked(loss.frame(layout.model(f, LOSSES)(x.frames[0])))
    torch.testing.assert_close(frame["image"], made["image"].sigmoid())
    torch.testing.assert_close(frame["place"], made["place"][:, 0])


class AbsoluteError(SquaredError):
    def elements(self, prediction, target):
        return (prediction - target).abs()


@pytest.mark.parametrize("own", [None, lambda z, x: (z - x).abs(), AbsoluteError()])
def test_matching_and_rolling_out(own):
    layout, f = states(), Model()
    kinds = LOSSES | ({"speed": own} if own else {})
    loss = layout.loss(kinds, WEIGHTS)
    assert type(loss) is (StateLoss if own else RankableStateLoss)
    dynamics = Dynamics(layout.model(f, kinds), loss)
    x = layout.trajectories(PLAIN)
    found = match(dynamics, x, Greedy(4), teacher_forcing=0.0, keep_predictions=True)
    for b, world in enumerate(x):
        for u, z in enumerate(found.predictions[b]):
            t = int(found.matched[b, u] - found.skips[b, u])
            window = [float(loss(z[None], world[k][None])) for k in range(t + 1, min(t + 5, len(world)))]
            assert window.index(min(window)) + 1 == found.skips[b, u]
    found.loss.backward()
    assert all(parameter.grad is not None for parameter in f.parameters())
    rolled = rollout(dynamics, x.first(), max_steps=2).trajectories
    assert 0 <= layout.unpacked(rolled.frames)["image"][:, 1:].min() <= layout.unpacked(rolled.frames)["image"].max() <= 1


def test_products_rank_as_the_loss_does():
    layout = states()
    loss, x = layout.loss(LOSSES, WEIGHTS), layout.trajectories(PLAIN).to(dtype=torch.float64)
    g = torch.Generator().manual_seed(1)
    z = torch.randn(3, 17, generator=g, dtype=torch.float64)
    found = Ranker(loss, x, 8).best(z, [0, 1, 2], [1, 1, 1], [9, 4, 7])
    for b, frame in enumerate(found):
        losses = [float(loss(z[b : b + 1], x[b][t][None])) for t in range(1, LENGTHS[b])]
        assert losses.index(min(losses)) + 1 == frame


def test_faint_targets_under_large_logits_are_ranked_exactly():
    g = torch.Generator().manual_seed(0)
    loss = States({"a": (500,)}).loss({"a": BinaryCrossEntropyWithLogits("sum")})
    frames, z = torch.rand(12, 12, 500, generator=g) * 1e-5, torch.randn(12, 500, generator=g) * 1000
    x = Trajectories(frames, torch.full((12,), 12))
    found = Ranker(loss, x, 11).best(z, range(12), [1] * 12, [12] * 12)
    literal = [int(loss(z[b].expand(11, -1), frames[b, 1:]).argmin()) + 1 for b in range(12)]
    assert found == literal


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: States({}), ValueError, "name entries that have elements"),
        (lambda: States({"a": (0,)}), ValueError, "name entries that have elements"),
        (lambda: States({"a": (1,)}, {"b": 1.0}), ValueError, r"`scales` should be of the entries \['a'\]. Found \['b'\]"),
        (lambda: States({"a": (1,)}, {"a": 0.0}), ValueError, "should be positive"),
        (lambda: States.of({"a": {"b": np.zeros(3)}}), TypeError, "Found dict in the entry 'a'. Flatten"),
        (lambda: states().packed({"image": torch.zeros(2, 3, 4)}), ValueError, r"the entries \['image', 'place', 'speed'\]"),
        (lambda: states().packed(PLAIN[0] | {"speed": torch.zeros(2)}), ValueError, "of one length"),
        (lambda: states().packed(PLAIN[0] | {"place": torch.zeros(9, 3)}), ValueError, r"the shape \(2,\). Found \(3,\)"),
        (lambda: States(None), TypeError, "`shapes` should be a dictionary by the entries' names. Found None"),
        (lambda: States({"place": 2}), TypeError, r"`shapes\['place'\]` should be a list of whole numbers. Found 2"),
        (lambda: States({"place": (2,)}, 3.0), TypeError, "`scales` should be a dictionary by the entries' names"),
        (lambda: states().loss({"image": SquaredError()}), ValueError, r"Found none for \['place', 'speed'\]"),
        (lambda: states().loss(LOSSES | {"sound": SquaredError()}), ValueError, r"`losses` should be of.*Found \['sound'\]"),
        (lambda: states().loss(LOSSES, {"image": -1.0}), ValueError, "should be positive.*Leave the entry out"),
    ],
)
def test_what_cannot_be_is_refused(as_installed, call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_bytes_without_a_scale_are_refused_under_a_cross_entropy():
    layout = States.of(PLAIN[0])
    dynamics = Dynamics(layout.model(Model(), LOSSES), layout.loss(LOSSES))
    with pytest.raises(ValueError, match=r"numbers in \[0, 1\]. Found \d+ to 2\d\d in the entry 'image'"):
        match(dynamics, layout.trajectories(PLAIN), Greedy(3))
