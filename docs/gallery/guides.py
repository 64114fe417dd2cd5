"""Draw the pictures of the guides on devices into docs/assets: `python docs/gallery/guides.py`. Needs matplotlib.

One shows the signs of made-up gradients on four processes and what they agree on, the others recorded times.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib as mpl
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from mechlearn.agreement import AndMask, combine

DOCS = Path(__file__).parents[1]
TIMES = DOCS.parent / "packages" / "zoo" / "results" / "bench"
INK, SOFT, BLUE, RED, GOLD = "#1e2228", "#8a8f98", "#0b6e9e", "#d1495b", "#e3a008"
METHODS = {"mechlearn": ("mechlearn", BLUE), "Opacus": ("Opacus", GOLD), "TorchJD": ("TorchJD", RED)}
NETWORKS = {
    "mlp-34": "perceptron",
    "resnet20": "ResNet-20",
    "fastresnet": "FastResNet",
    "rms-lm": "language model",
    "encoder": "encoder",
    "vit-tiny": "ViT-Tiny",
}
WAYS = {
    "mechlearn, compiled": ("agreement.compile", BLUE),
    "loop, compiled": ("loop over a compiled function", GOLD),
    "mechlearn": ("agreement.backward", "#7fb2cc"),
    "loop": ("loop", RED),
}
COMPILED = {
    "gpt2 4x8": "like GPT-2\n4 x 8",
    "llama 4x8": "like Llama\n4 x 8",
    "vit-tiny 4x8": "ViT-Tiny\n4 x 8",
    "mlp-34": "perceptron\n32 x 128",
    "mlp-34 single rows": "perceptron\n128 x 1",
    "resnet20-gn 16x8": "ResNet-20\n16 x 8",
    "weight norm": "weight norm\n8 x 128",
    "DoRA": "DoRA\n8 x 128",
    "second derivatives": "second\nderivatives\n8 x 256",
}


def devices() -> Figure:
    """Draw the gradients of eight weights on four ranks, and the masked mean that each rank then holds."""
    generator = torch.Generator().manual_seed(2)
    shared = torch.tensor([1.0, -1.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0])
    own = shared + 0.5 * torch.randn(4, 8, generator=generator)
    combined = combine(AndMask(threshold=1.0), own).gradient
    figure, panels = plt.subplots(1, 2, figsize=(9, 2.6), sharey=True, layout="constrained")
    for panel, values, title in zip(
        panels, (own, combined.expand(4, 8)), ("each rank's own site", "every rank, after agreement.backward"), strict=True
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
    return _times("agreement-gpu", NETWORKS, METHODS, "an ordinary step")


def performance() -> Figure:
    """Draw the time of a step as a multiple of compiled backpropagation's, by network and way."""
    return _times("compiled", COMPILED, WAYS, "compiled backpropagation")


def _times(bench: str, networks: Mapping[str, str], ways: Mapping[str, tuple[str, str]], one: str) -> Figure:
    rows = [json.loads(line) for line in (TIMES / f"{bench}.jsonl").read_text(encoding="utf-8").splitlines()]
    newest = {(row["workload"], row["method"]): row["ratio"] for row in rows if row["ratio"] is not None}
    figure, panel = plt.subplots(figsize=(9, 3), layout="constrained")
    width = 0.8 / len(ways)
    for offset, (method, (label, colour)) in enumerate(ways.items()):
        found = [(at, newest[name, method]) for at, name in enumerate(networks) if (name, method) in newest]
        places, ratios = zip(*found, strict=True)
        middle = (len(ways) - 1) / 2
        panel.bar([at + width * (offset - middle) for at in places], ratios, width=0.93 * width, color=colour, label=label)
    panel.axhline(1, color=INK, linewidth=0.8)
    panel.set(yscale="log", ylabel=f"times {one}", yticks=[1, 2, 4, 8, 16, 32], yticklabels=[1, 2, 4, 8, 16, 32])
    panel.set_xticks(range(len(networks)), list(networks.values()), fontsize=8)
    panel.minorticks_off()
    figure.legend(loc="outside upper center", frameon=False, ncols=len(ways), fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {"devices": devices, "gpu": gpu, "performance": performance}


if __name__ == "__main__":
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "mechlearn"
    for name, draw in PICTURES.items():
        draw().savefig(DOCS / "assets" / f"{name}.svg", facecolor="white", metadata={"Date": None})
