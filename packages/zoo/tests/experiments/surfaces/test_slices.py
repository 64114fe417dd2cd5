from dataclasses import replace

import pytest
import torch

from claimlab import EachSeed, Rows, judge
from mechlearn_zoo.experiments.surfaces import slices
from mechlearn_zoo.experiments.surfaces.slices.measures import rank, turned
from mechlearn_zoo.experiments.surfaces.slices.run import deep_network

SMALL = {
    "hidden": (6,), "train": 32, "epochs": 3, "batches": (4, 16), "directions": 1, "points": 7, "depth": 2, "deep_width": 4,
    "deep_epochs": 1, "grid": 2, "curvature_digits": 8,
}  # fmt: skip


@pytest.fixture(scope="module")
def made():
    experiment = slices.EXPERIMENT
    config = replace(experiment.presets["quick"].config, **SMALL)
    return experiment, config, [{**row, "seed": 0} for row in experiment.run(config)]


def test_a_tiny_run_can_be_judged_and_drawn(made):
    experiment, config, rows = made
    for claim in experiment.claims:
        assert judge(claim, rows, "quick").measured is not None, claim.id
    assert len(experiment.figures(Rows(rows))) >= 2
    assert all(0 <= experiment.progress(config, row)[0] <= 1 for row in rows)


def test_the_legend_lies_over_no_curve(made):
    experiment, _, rows = made
    figure = experiment.figures(Rows(rows))["slices"]
    (legend,) = figure.legends
    assert all(axes.get_legend() is None for axes in figure.axes)
    assert [text.get_text() for text in legend.get_texts()] == [
        f"batch {batch}, decay {decay}" for batch in (4, 16) for decay in (0.0, 0.005)
    ]
    figure.draw_without_rendering()
    assert legend.get_window_extent().y1 <= min(axes.get_window_extent().y0 for axes in figure.axes)


def test_rescaled_networks_are_told_apart(made):
    experiment, _, rows = made
    found = {claim.id.partition(".")[2]: judge(claim, rows, "quick").verdict for claim in experiment.claims}
    assert found["layer-invariance"] == "holds so far"


def test_what_filter_normalisation_leaves_is_a_share_of_what_raw_slices_show():
    changes = {"none": 100.0, "filter": 15.0}
    rows = [
        {"kind": "rescaling", "seed": seed, "normalise": normalise, "rescaled": "units", "change": change}
        for seed in range(6)
        for normalise, change in changes.items()
    ]
    claims = {claim.id.partition(".")[2]: claim for claim in slices.EXPERIMENT.claims}
    found = judge(claims["unit-invariance-raw"], rows, "quick")
    assert (found.measured, found.verdict) == (pytest.approx(0.15), "holds")
    little = [{**row, "change": 0.5} if row["normalise"] == "filter" else row for row in rows]
    assert judge(claims["unit-invariance-raw"], little, "quick").verdict == "does not hold"


def test_measures_on_made_up_rows():
    rows = []
    for seed, (batch, decay, error, width) in enumerate([(16, 0.0, 0.1, 4.0), (256, 0.0, 0.2, 2.0), (16, 0.1, 0.3, 1.0)] * 2):
        rows.append({"kind": "network", "seed": seed // 3, "batch": batch, "decay": decay, "test_error": error})
        rows.append({"kind": "width", "seed": seed // 3, "batch": batch, "decay": decay, "normalise": "filter", "width": width})
    assert EachSeed(rank("filter"))(Rows(rows)).value == pytest.approx(1.0)
    widths = [(16, 0.0, 4.0), (256, 0.0, 2.0), (16, 0.1, 1.0), (256, 0.1, 3.0)]
    raw = [{"kind": "width", "seed": 0, "normalise": "none", "batch": b, "decay": d, "width": w} for b, d, w in widths]
    assert turned(Rows(raw)) == pytest.approx(-torch.tensor(3.0).log().item())


CLAIMS = {claim.id.partition(".")[2]: claim for claim in slices.EXPERIMENT.claims}


@pytest.mark.parametrize(("ratio", "verdict"), [(0.5, "holds"), (1.5, "does not hold")])
@pytest.mark.parametrize("first", [16, 256])
def test_a_comparison_is_turned_round_where_its_sign_changes(ratio, verdict, first):
    """Whichever batch is the wider one without weight decay; that both come closer is what was asked before."""
    other = 272 - first
    widths = [(first, 0.0, 2.0), (other, 0.0, 1.0), (first, 0.1, ratio), (other, 0.1, 1.0)]
    rows = [
        {"kind": "width", "seed": seed, "normalise": "none", "batch": batch, "decay": decay, "width": width}
        for seed in range(6)
        for batch, decay, width in widths
    ]
    assert judge(CLAIMS["raw-misleads"], rows, "quick").verdict == verdict


@pytest.mark.parametrize(
    ("without", "within", "verdict"), [(0.9, 0.1, "holds"), (0.9, 0.6, "does not hold"), (0.1, 0.2, "does not hold")]
)
def test_shortcuts_must_make_the_surface_convex(without, within, verdict):
    rows = [
        {"kind": "convexity", "seed": seed, "shortcuts": shortcuts, "share": share}
        for seed in range(6)
        for shortcuts, share in ((True, within), (False, without))
    ]
    assert judge(CLAIMS["skips-convex"], rows, "quick").verdict == verdict


@pytest.mark.parametrize(("share", "verdict"), [(0.3, "does not hold"), (0.6, "holds"), (0.95, "does not hold")])
def test_two_directions_hold_no_more_than_the_text_says(share, verdict):
    rows = [{"kind": "path", "seed": seed, "path1": share - 0.1, "path2": 0.1, "walk1": 0.1, "walk2": 0.1} for seed in range(6)]
    assert judge(CLAIMS["low-dimensional-path"], rows, "quick").verdict == verdict


def test_shortcuts_have_the_layers_of_the_network_without():
    config = slices.EXPERIMENT.presets["quick"].config
    counts = [sum(p.numel() for p in deep_network(config, shortcuts).parameters()) for shortcuts in (True, False)]
    assert counts[0] == counts[1]
