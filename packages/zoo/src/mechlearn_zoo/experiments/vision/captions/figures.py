"""Where each word looks, how often the caption is found, and pictures that were made of captions."""

import base64
import math
import textwrap
import zlib

import numpy as np

from claimlab import Rows, panels
from mechlearn_zoo.experiments.vision.captions.run import SHOWN
from mechlearn_zoo.learners.plots import Figure, columns, first_seed, level, picture


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the first seed's attention, every seed's retrieval, and the first seed's made pictures, where there are any."""
    found = {"attention": draw_attention(rows), "retrieval": draw_retrieval(rows)}
    return {**found, "painted": draw_painted(rows)} if rows.where(kind="picture") else found


def draw_attention(rows: Rows) -> Figure:
    """Draw test pictures, each beside the attention of its words."""
    found = first_seed(rows.where(kind="attention"))
    longest = max(len(str(row["caption"]).split()) for row in found)
    figure, axes = panels(
        longest + 1, len(found), height=1.0 * len(found) + 0.2,
        caption="Test pictures (left) and where each word of their captions looks, bright where it looks most.",
    )  # fmt: skip
    for place, row in enumerate(found):
        own = axes[place * (longest + 1) : (place + 1) * (longest + 1)]
        own[0].imshow(decode(str(row["pixels"])))
        words = str(row["caption"]).split()
        maps = np.array([int(shade, 16) for shade in str(row["maps"])])
        grid = math.isqrt(len(maps) // len(words))
        for axis, word, shown in zip(own[1:], words, maps.reshape(len(words), grid, grid), strict=False):
            axis.imshow(shown, cmap="magma", vmin=0, vmax=15, interpolation="nearest", extent=(0, 32, 32, 0))
            axis.set_title(word, fontsize=7)
        for axis in own:
            axis.set_axis_off()
    return figure


def draw_painted(rows: Rows) -> Figure:
    """Draw the first seed's made pictures, of both generators, below the true ones of the same captions.

    Both stages where few pictures are kept; the last one where there are many.
    """
    true, made = first_seed(rows.where(kind="attention")), first_seed(rows.where(kind="picture"))
    many, last = len(true) > SHOWN, len(decode(str(true[0]["pixels"])))
    sides: list[tuple[str, Rows, str]] = [("true", true, "pixels")]
    for attention, name in ((True, "with attention"), (False, "without")):
        some = made.where(attention=attention)
        stages = [] if many else [(f"{name},\n{last // 2} x {last // 2}", some, "small")]
        sides += [*stages, (name if many else f"{name},\n{last} x {last}", some, "large")] if some else []
    stages = "" if many else f" in a first stage ({last // 2} x {last // 2}) and a second ({last} x {last}),"
    figure, axes = panels(
        len(true), len(sides), width=(1.15 if many else 1.9) * len(true), height=(1.2 if many else 1.5) * len(sides) + 0.4,
        caption=f"Top: true test pictures. Below: what the generators make of the same captions alone,{stages} "
        "with attention to words and without. One seed.",
    )  # fmt: skip
    for place, (name, some, key) in enumerate(sides):
        own = axes[place * len(true) : (place + 1) * len(true)]
        own[0].set_ylabel(name)
        for axis, row in zip(own, some, strict=False):
            picture(axis, decode(str(row[key])))
            if not place:
                axis.set_title(textwrap.fill(str(row["caption"]), 14 if many else 22), fontsize=7.5)
    return figure


def decode(text: str) -> np.ndarray:
    """Return a square picture (h, w, 3) in [0, 1] from a row's text."""
    flat = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    side = round((len(flat) / 3) ** 0.5)
    return flat.reshape(side, side, 3) / 15


def draw_retrieval(rows: Rows) -> Figure:
    """Draw the share of captions found by method, a dot a seed, and the attention in boxes."""
    figure, axes = panels(
        2, height=2.8,
        caption="Left: captions found among 100, of true test pictures and, where there are any, of made ones; a dot a seed. "
        "Right: attention of words inside boxes over area.",
    )  # fmt: skip
    found = rows.where(kind="retrieval")
    shares = {name: found.where(method=name)["right"] for name in dict.fromkeys(str(row["method"]) for row in found)}
    for attention, name in ((True, "made with attention"), (False, "made without")):
        some = rows.where(kind="painted", attention=attention)
        shares |= {name: some["right"]} if some else {}
    names = [name.replace(" ", "\n") for name in shares]
    columns(axes[0], names, {("", "ours"): list(shares.values())}, fontsize=7.5)
    level(axes[0], 0.01)
    axes[0].set(ylabel="R-precision", ylim=(0, 1))
    pointing = rows.where(kind="pointing")
    arms = [pointing.where(method=method, word=word) for method in ("words", "untrained") for word in ("colour", "digit")]
    boxes = {(f"{key} box", role): [arm[key] for arm in arms] for key, role in (("own", "ours"), ("other", "baseline"))}
    columns(axes[1], ["colour\nwords", "digit\nwords", "colour,\nuntrained", "digit,\nuntrained"], boxes, fontsize=7.5)
    level(axes[1], 1)
    axes[1].legend(fontsize=7.5)
    axes[1].set_ylabel("mass over area")
    return figure
