"""Where each word looks, and how often the caption is found."""

import base64
import zlib

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.vision.captions.run import GRID
from craik.lab import COLOURS, Rows, colour, number, panels


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the first seed's attention, and every seed's retrieval."""
    return {"attention": draw_attention(rows), "retrieval": draw_retrieval(rows)}


def draw_attention(rows: Rows) -> Figure:
    """Draw three test pictures, each beside the attention of its words."""
    found = rows.where(kind="attention")
    if "seed" in found[0]:
        found = found.where(seed=found[0]["seed"])
    longest = max(len(str(row["caption"]).split()) for row in found)
    figure, axes = panels(
        longest + 1, len(found), height=1.0 * len(found) + 0.2,
        caption="Test pictures (left) and where each word of their captions looks, bright where it looks most.",
    )  # fmt: skip
    for place, row in enumerate(found):
        own = axes[place * (longest + 1) : (place + 1) * (longest + 1)]
        flat = np.frombuffer(zlib.decompress(base64.b64decode(str(row["pixels"]))), dtype=np.uint8)
        own[0].imshow(flat.reshape(32, 32, 3) / 15)
        words = str(row["caption"]).split()
        maps = np.array([int(shade, 16) for shade in str(row["maps"])]).reshape(len(words), GRID, GRID)
        for axis, word, shown in zip(own[1:], words, maps, strict=False):
            axis.imshow(shown, cmap="magma", vmin=0, vmax=15, interpolation="nearest", extent=(0, 32, 32, 0))
            axis.set_title(word, fontsize=7)
        for axis in own:
            axis.set_axis_off()
    return figure


def draw_retrieval(rows: Rows) -> Figure:
    """Draw the share of captions found by method, a dot a seed, and the attention in boxes."""
    figure, axes = panels(
        2, caption="Left: captions found among 100, a dot a seed. Right: attention of words inside boxes over area.", height=2.8
    )
    found = rows.where(kind="retrieval")
    names = list(dict.fromkeys(str(row["method"]) for row in found))
    for place, name in enumerate(names):
        values = found.where(method=name)["right"]
        axes[0].plot(place + np.linspace(-0.12, 0.12, len(values)), values, "o", color=colour(place))
    axes[0].axhline(0.01, color=COLOURS["reference"], linestyle="--", linewidth=1)
    axes[0].set_xticks(range(len(names)), [name.replace(" ", "\n") for name in names])
    axes[0].set(ylabel="R-precision", ylim=(0, 1))
    pointing = rows.where(kind="pointing")
    for place, row in enumerate([(m, w) for m in ("words", "untrained") for w in ("colour", "digit")]):
        for key, marker in (("own", "o"), ("other", "x")):
            values = [number(one, key) for one in pointing.where(method=row[0], word=row[1])]
            axes[1].plot(
                np.full(len(values), place), values, marker, color=colour(place // 2), label=f"{key} box" if not place else None
            )
    axes[1].axhline(1, color=COLOURS["reference"], linestyle="--", linewidth=1)
    axes[1].set_xticks(range(4), ["colour\nwords", "digit\nwords", "colour,\nuntrained", "digit,\nuntrained"], fontsize=7.5)
    axes[1].legend(fontsize=7.5)
    axes[1].set_ylabel("mass over area")
    return figure
