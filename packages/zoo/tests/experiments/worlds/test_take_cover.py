from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.worlds.take_cover import EXPERIMENT, films
from mechlearn_zoo.nn.autoencoders import ConvVAE, Encoded

TINY = {
    "episodes": 20, "steps": 6, "lanes": 20, "widths": (4,), "vision_steps": 2, "most_lost": 100.0, "hidden": 6,
    "memory_steps": 2, "memory_batch": 4, "population": 4, "trials": 2, "generations": 2, "horizon": 12, "tested": 6, "film": 5,
}  # fmt: skip


def rows(preset="quick", **changed):
    config = replace(EXPERIMENT.presets[preset].config, **{**TINY, **changed})
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


@pytest.mark.extra("worlds", "cma")
def test_a_tiny_run_can_be_judged_and_drawn():
    found = rows()
    for claim in EXPERIMENT.claims:
        assert (judge(claim, found, "quick").measured is not None) == ("quick" in claim.condition.presets), claim.id
    assert set(EXPERIMENT.figures(Rows(found))) == {"returns", "evolution", "dream-strip", "dream-and-world"}
    assert not Rows(found).where(kind="seen")  # VizDoom's and car racing's, where the film is another


@pytest.mark.extra("worlds", "cma")
def test_the_fog_s_record_judges_memory_and_draws_it():
    found = rows("fog", film=30)
    asked = {claim.id: judge(claim, found, "fog").measured for claim in EXPERIMENT.claims}
    measured = {name for name, number in asked.items() if number is not None}
    assert measured >= {"take-cover.memory-helps", "take-cover.memory-untrained"}
    assert not any(judge(claim, found, "fog").measured for claim in EXPERIMENT.claims if claim.id.endswith("-clear"))
    (fog,) = Rows(found).where(kind="fog")
    shown, there = (films.decode(fog[name], fog["frames"]) for name in ("shown", "there"))
    half = shown.shape[1] // 2
    assert (shown >= there).all()
    assert (shown[:, : half - 4] == there[:, : half - 4]).mean() > 0.95
    assert set(EXPERIMENT.figures(Rows(found))) == {"returns", "evolution", "memory"}


def test_a_seed_whose_vision_sees_nothing_stops():
    found = rows(most_lost=0.01)
    assert [row["kind"] for row in found] == ["vision", "refused"]
    assert all(judge(claim, found, "quick").measured is None for claim in EXPERIMENT.claims)


@pytest.mark.extra("worlds", "cma", "vizdoom")
def test_doom_for_a_few_steps(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # VizDoom leaves its settings, _vizdoom.ini, where it was started
    found = Rows(
        rows("doom", episodes=10, lanes=2, widths=(4, 4, 4, 4), latent=3, trials=1, tested=2, temperatures=(1.15,), film=1)
    )
    (final,) = found.where(kind="final")
    assert 0 < final["actual"] <= 12 * 4
    assert found.where(kind="reference", method="random")[0]["actual"] == 12 * 4  # nobody dies in a second and a half
    (seen,) = found.where(kind="seen")
    assert films.decode_colours(seen["pictures"], 2).shape == (2, 64, 64, 3)
    assert set(EXPERIMENT.figures(found)) == {"returns", "evolution", "seen"}


def test_recorded_presets_of_other_worlds_keep_no_picture():
    assert [EXPERIMENT.presets[name].config.film for name in ("quick", "fog", "doom", "paper", "car")] == [48, 48, 0, 0, 0]


# Box2D's bindings warn while they are made, and a warning that is an error there ends the process.
@pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning")
@pytest.mark.extra("worlds", "cma", "Box2D")
def test_car_racing_for_a_few_steps():
    tiny = {"episodes": 10, "steps": 3, "lanes": 2, "widths": (4, 4, 4, 4), "latent": 3, "trials": 1, "tested": 2, "horizon": 3}
    found = Rows(rows("car", **tiny, in_world=("z-h",), generations=1))
    (final,) = found.where(kind="final")
    assert final["virtual"] == final["actual"] < 100
    assert final["parameters"] == 3 * (3 + 6 + 1)


def test_films_come_back():
    frames = torch.zeros(4, 2, 6, 6)
    frames[1, 0, 2, 3] = 1.0
    frames[2, 1, 4, 4] = 1.0
    found = films.decode(films.encode(frames), 4)
    assert (found[0] == 255).all()
    assert found[1, 2, 3, 0] > 200 > found[1, 2, 3, 1]
    assert found[2, 4, 4, 2] > 150 > found[2, 4, 4, 0]


def test_a_strip_shows_both_sides_at_the_same_steps():
    def film(side, count):
        frames = torch.zeros(count, 2, 6, 6)
        frames[:, 0, 2] = torch.linspace(0, 1, count)[:, None]
        pictures = films.encode(frames)
        return {"kind": "film", "method": "dream 1", "side": side, "frames": count, "pictures": pictures, "seed": 100}

    strip = EXPERIMENT.figures(Rows([film("dream", 11), film("world", 48)]))["dream-strip"]
    titles = [axes.get_title("center") for axes in strip.axes]
    assert titles == [f"step {step}" for step in (0, 2, 4, 6, 8, 10)] + [""] * 6
    assert [axes.get_ylabel() for axes in strip.axes] == ["dream", *[""] * 5, "world", *[""] * 5]
    shown = [axes.images[0].get_array()[2, 0, 1] for axes in strip.axes]
    assert shown[5] < shown[0] == shown[6] == 255 > shown[11] > shown[5]  # the dream's last frame, the world's eleventh


def test_a_frame_and_what_v_makes_of_it_come_back():
    class Half(ConvVAE):
        """Makes every frame half as bright."""

        def encode(self, frames):
            return Encoded(frames, frames)

        def decode(self, z):
            return z / 2

    frames = torch.linspace(0, 1, 5)[:, None, None, None] * torch.tensor([1.0, 0.4, 0.0])[:, None, None] * torch.ones(4, 4)
    row = films.seen(Half(3, 8, 2, torch.Generator(), (2,)), frames)
    real, rebuilt = films.decode_colours(row["pictures"], row["frames"])
    assert real[0, 0].tolist() == [8 * 17, 3 * 17, 0]  # the frame in the middle, in sixteen shades
    assert rebuilt[0, 0].tolist() == [4 * 17, 2 * 17, 0]
    figure = EXPERIMENT.figures(Rows([{**row, "seed": 100}]))["seen"]
    assert [axes.get_title() for axes in figure.axes] == ["the world's frame", "V's picture of it"]
