"""Draw the pictures of the guides on devices into docs/assets: `python docs/gallery/guides.py`. Needs matplotlib.

One shows the signs of made-up gradients on four processes and what they agree on, the other the recorded times on a GPU.
"""

import json
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from mechlearn.agreement import AndMask, combine

DOCS = Path(__file__).parents[1]
TIMES = DOCS.parent / "packages" / "zoo" / "results" / "bench" / "agreement-gpu.jsonl"
INK, SOFT, BLUE, RED, GOLD = "#1e2228", "#8a8f98", "#0b6e9e", "#d1495b", "#e3a008"
METHODS = {"mechlearn": BLUE, "Opacus": GOLD, "TorchJD": RED}
NETWORKS = {
    "mlp-34": "perceptron",
    "resnet20": "ResNet-20",
    "fastresnet": "FastResNet",
    "rms-lm": "language model",
    "encoder": "encoder",
    "vit-tiny": "ViT-Tiny",
}


def devices() -> Figure:
    """Draw the gradients of eight weights on four ranks, and the masked mean that each rank then holds."""
    generator = torch.Generator().manual_seed(2)
    shared = torch.tensor([1.0, -1.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0])
    own = shared + 0.5 * torch.randn(4, 8, generator=generator)
    combined = combine(AndMask(threshold=1.0), own).gradient
    figure, panels = plt.subplots(1, 2, figsize=(9, 2.6), sharey=True, layout="constrained")
    for panel, values, title in zip(
        panels,
        (own, combined.expand(4, 8)),
        ("each rank's own site", "every rank, after agreement.backward"),
        strict=True,
    ):
        panel.imshow(values.numpy(), cmap="RdBu", vmin=-2, vmax=2, aspect="auto")
        for row, column in torch.cartesian_prod(torch.arange(4), torch.arange(8)).tolist():
            value = float(values[row, column])
            panel.text(
                column,
                row,
                "0" if value == 0 else f"{value:+.1f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if abs(value) > 1.3 else INK,
            )
        panel.set(title=title, xlabel="weight", xticks=[], yticks=range(4), yticklabels=[f"rank {rank}" for rank in range(4)])
        panel.spines[:].set_visible(False)
    return figure


def gpu() -> Figure:
    """Draw the time of a step as a multiple of ordinary backpropagation's, by network and library."""
    rows = [json.loads(line) for line in TIMES.read_text(encoding="utf-8").splitlines()]
    newest = {(row["workload"], row["method"]): row for row in rows if row["ratio"] is not None}
    figure, panel = plt.subplots(figsize=(9, 2.8), layout="constrained")
    for offset, (method, colour) in enumerate(METHODS.items()):
        found = [(at, newest[name, method]["ratio"]) for at, name in enumerate(NETWORKS) if (name, method) in newest]
        places, ratios = zip(*found, strict=True)
        panel.bar([at + 0.27 * (offset - 1) for at in places], ratios, width=0.25, color=colour, label=method)
    panel.axhline(1, color=INK, linewidth=0.8)
    panel.set(yscale="log", ylabel="times an ordinary step", yticks=[1, 2, 4, 8, 16, 32], yticklabels=[1, 2, 4, 8, 16, 32])
    panel.set_xticks(range(len(NETWORKS)), list(NETWORKS.values()))
    panel.minorticks_off()
    panel.legend(frameon=False, ncols=3, fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {"devices": devices, "gpu": gpu}


if __name__ == "__main__":
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "mechlearn"
    for name, draw in PICTURES.items():
        draw().savefig(DOCS / "assets" / f"{name}.svg", facecolor="white", metadata={"Date": None})
