"""Draws the pictures of docs/gallery/README.md again: `python docs/gallery/make.py`. Needs matplotlib and pymunk.

One function a picture, most of them figures of the texts, from the tasks that the experiments train on; a seed chooses what is
shown, nothing else.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image
from torch import nn

from mechlearn.agreement import AndMask, Mean
from mechlearn.agreement.rules.critical import qualitative_critical
from mechlearn.integrations import SourceWatch
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.spirals.gradient_correlation.run import flat, shuffled, statistics
from mechlearn_zoo.tasks.boards.spirals import Mechanism, Shortcuts, spirals
from mechlearn_zoo.tasks.frames import funnel_board, room_runner
from mechlearn_zoo.tasks.frames.funnel_board.geometry import Board, Funnel, funnel_outlines
from mechlearn_zoo.tasks.frames.funnel_board.physics import thrown
from mechlearn_zoo.tasks.pictures.life import life
from mechlearn_zoo.tasks.tables.codes import coded_digits

HERE = Path(__file__).parent
INK, SOFT, BLUE, RED = "#1e2228", "#8a8f98", "#0b6e9e", "#d1495b"


def funnel() -> Figure:
    """Thesis figure 2.2: balls let go into a funnel at different speeds, and where they come out."""
    settings = funnel_board.PUBLISHED
    one = Funnel(0.0, 0.0, 1.0, 3.0, 0.25, 0.6)
    speeds = (-2.0, -1.0, 0.4, 1.2, 2.0)
    figure, panels = plt.subplots(1, len(speeds), figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained")
    for panel, speed in zip(panels, speeds, strict=True):
        x, y = thrown(settings, Board((0.0, 2.6), (), (one,), ()), (speed, 0.0), -3.2).T
        for wall in funnel_outlines(one):
            panel.fill(*wall.T, color=INK)
        inside = np.abs(y) < one.height / 2
        panel.plot(x, y, color=BLUE, lw=1)
        panel.plot(np.where(inside, x, np.nan), np.where(inside, y, np.nan), color=RED, lw=1)
        panel.set(title=f"speed {speed:+.1f}", xlim=(-2.2, 2.2), ylim=(-3.2, 3), aspect="equal", xticks=[], yticks=[])
        panel.spines[:].set_visible(False)
    return figure


def _merged(frames: np.ndarray, every: int) -> np.ndarray:
    """All frames of an episode in one picture: the darkest of each pixel and channel."""
    return frames[::every].min(0).transpose(1, 2, 0)


def _episodes(world: object, count: int, seed: int, names: tuple[str, ...], every: int) -> Figure:
    episodes = world.generate(count, seed)  # type: ignore[attr-defined]
    figure, panels = plt.subplots(2, count, figsize=(2.2 * count, 5.2), layout="constrained")
    for column in range(count):
        frames = episodes.pixels(column)
        panels[0, column].imshow(frames[0].transpose(1, 2, 0))
        panels[1, column].imshow(_merged(frames, every))
        panels[1, column].set_xlabel(names[int(episodes.labels[column])])
        for panel in panels[:, column]:
            panel.set(xticks=[], yticks=[])
    panels[0, 0].set_ylabel("x, the first frame")
    panels[1, 0].set_ylabel("x*, the trajectory")
    return figure


def runner() -> Figure:
    """Thesis figure 2.5: first frames of Room runner, the walks merged into one picture, and their labels."""
    return _episodes(room_runner, 4, 6, ("ends in red", "ends in blue"), 1)


def board() -> Figure:
    """Thesis figure 2.6: first frames of Funnel board, the falls merged into one picture, and their labels."""
    names = tuple(f"platform {k + 1}" for k in range(5))
    return _episodes(funnel_board, 4, 1, names, 2)


def directions() -> Figure:
    """Thesis figure 3.2: two environments whose gradients point elsewhere while their mean still descends."""
    x, y = np.meshgrid(np.linspace(-2, 2, 160), np.linspace(-2, 2, 160))
    centres = np.array([[0.0, 1.1], [0.0, -1.1]])
    widths = np.array([[1.0, 0.35], [1.0, 0.35]])
    start = np.array([-1.5, 0.15])
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
    losses, gradients = [], []
    for centre, width in zip(centres, widths, strict=True):
        losses.append(((x - centre[0]) / width[0]) ** 2 / 2 + ((y - centre[1]) / width[1]) ** 2 / 2)
        gradients.append((start - centre) / width**2)
    agree = np.where(np.sign(gradients[0]) == np.sign(gradients[1]), np.mean(gradients, 0), 0)
    shown = [*zip(losses, gradients, strict=True), (np.mean(losses, 0), np.mean(gradients, 0))]
    for panel, (loss, gradient), title in zip(panels, shown, ("environment A", "environment B", "their mean"), strict=True):
        panel.contour(x, y, loss, levels=12, colors=SOFT, linewidths=0.6)
        step = -gradient / np.linalg.norm(gradient)
        panel.annotate("", start + step, start, arrowprops={"arrowstyle": "->", "color": BLUE, "lw": 2})
        panel.plot(*start, "o", color=INK)
        panel.set(title=title, xticks=[], yticks=[], aspect="equal")
    masked = -agree / np.linalg.norm(agree)
    panels[2].annotate("", start + masked, start, arrowprops={"arrowstyle": "->", "color": RED, "lw": 2})
    panels[2].text(*(start + masked + np.array([0.05, -0.3])), "masked", color=RED)
    return figure


def environments() -> Figure:
    """Thesis figure 3.5: two spiral inputs and two shortcut inputs, in two environments."""
    data = spirals(5, environments=2, examples=160, shortcuts=Shortcuts(2, 0.5), mechanism=Mechanism(revolutions=1)).train
    figure, panels = plt.subplots(2, 2, figsize=(6, 5.5), layout="constrained", sharex="row", sharey="row")
    for column in range(2):
        own = data.environments == column
        x, y = data.x[own].numpy(), data.y[own].numpy().astype(bool)
        for row, inputs in enumerate((slice(0, 2), slice(2, 4))):
            spread = 0.06 * np.random.default_rng(column).normal(size=(len(x), 2)) if row else 0  # else all dots are one
            for label, colour in ((False, BLUE), (True, RED)):
                dots = (x[:, inputs] + spread)[y == label]
                panels[row, column].plot(*dots.T, ".", color=colour, ms=4, label=f"y = {int(label)}")
            panels[row, column].set(xticks=[], yticks=[], aspect="equal")
        panels[0, column].set_title(f"environment {'AB'[column]}")
        panels[1, column].set(xlim=(-1, 1), ylim=(-1, 1))
    panels[1, 1].legend(loc="lower right", fontsize="small")
    panels[0, 0].set_ylabel("mechanism: inputs 1 and 2")
    panels[1, 0].set_ylabel("shortcuts: inputs 3 and 4")
    return figure


def lives() -> Figure:
    """Thesis figure 4.5: a board, its three generations, and the cell that is the label."""
    found = life(2, examples=1)
    part = found.data.train
    boards = [part.x[0], *part.privileged[0][found.frame_of_step]]
    figure, panels = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
    for time, (panel, cells) in enumerate(zip(panels, boards, strict=True)):
        panel.imshow(1 - cells.numpy(), cmap="gray", vmin=0, vmax=1)
        panel.set(xticks=[], yticks=[], title="x" if time == 0 else f"x*, generation {time}")
    middle = len(boards[0]) // 2
    panels[3].add_patch(plt.Rectangle((middle - 0.5, middle - 0.5), 1, 1, fill=False, color=RED, lw=2))
    panels[3].set_xlabel(f"y = {int(part.y[0])}", color=RED)
    return figure


def combined_and_alone(seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return an untrained network's combined gradients by rule, and the gradients of either signal alone, as vectors."""
    data = spirals(seed, 16, 1024, Shortcuts(32, 0.1)).train
    generator = torch.Generator().manual_seed(seed + 2**32)
    model = mlp(34, 1, generator, 256, 3, "default")
    alone = {
        "shortcuts": flat(Mean(), statistics(model, shuffled(data, "mechanism", generator), Mean.needs)),
        "mechanism": flat(Mean(), statistics(model, shuffled(data, "shortcuts", generator), Mean.needs)),
    }
    found = statistics(model, data, AndMask.needs)
    combined = {"averaged": flat(Mean(), found), "AND-mask, threshold 1": flat(AndMask(1.0), found)}
    vectors = [{name: gradient.double().numpy() for name, gradient in some.items()} for some in (combined, alone)]
    return vectors[0], vectors[1]


def components() -> Figure:
    """The paper's figure 7: a combined gradient against the shortcuts' and the mechanism's, dots of a seed, lines of ten."""
    figure, panels = plt.subplots(2, 2, figsize=(6.4, 6), layout="constrained")
    for seed in range(100, 110):
        combined, alone = combined_and_alone(seed)
        for row, (name, values) in enumerate(combined.items()):
            kept = values.nonzero()[0]
            for column, (signal, gradient) in enumerate(alone.items()):
                panel = panels[row, column]
                if seed == 100:
                    shown = np.random.default_rng(seed).permutation(kept)[:3000]
                    panel.plot(gradient[shown], values[shown], ".", color=BLUE, ms=2, alpha=0.4)
                    panel.set(xticks=[0], yticks=[0], xlim=panel.get_xlim(), ylim=panel.get_ylim())
                    panel.set_xlabel(f"gradient of the {signal} alone")
                    panels[row, 0].set_ylabel(f"{name}: {len(kept)} components")
                slope, offset = np.polyfit(gradient[kept], values[kept], 1)
                ends = np.array(panel.get_xlim())
                panel.plot(ends, slope * ends + offset, color=RED, lw=2 if seed == 100 else 0.6)
    return figure


def evidence() -> Figure:
    """Evidence by site for a weight that Gail and Simon's test masks and for one that it keeps: coded digits, pooled steps."""
    sites, rows, steps, rate = 8, 179, 20, 0.5
    data = coded_digits(100, sites, rows, test=1)
    wanted, weight = torch.eye(10)[data.y], torch.zeros(64, 10)
    for _ in range(steps):
        slopes = torch.einsum("enp,enk->enpk", data.x, (data.x @ weight).softmax(-1) - wanted)  # each row's gradient
        weight = weight - rate * slopes.mean((0, 1))
    z = slopes.mean(1) / (slopes.std(1) / rows**0.5)
    positive, negative = z.clamp(min=0).square().sum(0), z.clamp(max=0).square().sum(0)
    smaller, critical = positive.minimum(negative), qualitative_critical(sites, 0.2)
    figure, panels = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
    kept = torch.where(smaller > critical, 0, z.sum(0).abs())
    for panel, place, name, colour in ((panels[0], smaller.argmax(), "masked", RED), (panels[1], kept.argmax(), "kept", BLUE)):
        pixel, digit = divmod(int(place), 10)
        panel.bar(range(1, sites + 1), z[:, pixel, digit].numpy(), color=colour)
        panel.axhline(0, color=INK, lw=0.8)
        sums = f"Q+ {float(positive[pixel, digit]):.0f}, Q- {float(negative[pixel, digit]):.0f}"
        panel.set(xlabel="site", title=f"{name}: pixel {pixel}, digit {digit}; {sums}")
    panels[0].set_ylabel("z: gradient / standard error")
    figure.supxlabel(f"masked where the smaller of Q+ and Q- is above {critical:.2f}", fontsize="small", color=SOFT)
    return figure


def sources() -> Figure:
    """Six sites of generated rows, one of which writes each label one class too high: its gradient against the others'."""
    torch.manual_seed(0)
    site, direction = torch.arange(6).repeat_interleave(16), torch.randn(16, 5)
    blocks = [nn.Sequential(nn.Linear(width, 64), nn.ReLU()) for width in (16, 64, 64, 64)]
    model = nn.Sequential(*blocks, nn.Linear(64, 5))
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def losses_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(model(x), y, reduction="none")

    watch = SourceWatch(model, losses_of, every=10)
    for _ in range(400):
        x = torch.randn(96, 16)
        y = (x @ direction).argmax(1)
        y[site == 4] = (y[site == 4] + 1) % 5
        watch.step(x, y, environments=site + 1)
        optimizer.zero_grad()
        losses_of(x, y).mean().backward()
        optimizer.step()
    half = watch.history[len(watch.history) // 2 :]
    layers = [np.array([list(layer.cosines.values()) for layer in one.layers.values()]) for one in half]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    picture = left.imshow(np.mean(layers, 0), cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    left.set(
        xticks=range(6), xticklabels=range(1, 7), xlabel="site", ylabel="layer", title="cosine with the others, second half"
    )
    figure.colorbar(picture, ax=left)
    for s in range(1, 7):
        cosines = [one.sources[s].cosine for one in watch.history]
        look = {"color": RED, "lw": 2, "label": "site 5"} if s == 5 else {"color": SOFT, "lw": 0.7}
        right.plot([one.step for one in watch.history], cosines, **look)
    right.axhline(0, color=INK, lw=0.8)
    right.set(xlabel="step", title="cosine with the mean of the others", ylim=(-1, 1))
    right.legend(fontsize="small")
    return figure


PICTURES = {
    "funnel": funnel,
    "runner": runner,
    "board": board,
    "directions": directions,
    "environments": environments,
    "life": lives,
    "components": components,
    "evidence": evidence,
    "sources": sources,
}


if __name__ == "__main__":
    mpl.use("Agg")
    for name, draw in PICTURES.items():
        figure = draw()
        figure.savefig(HERE / f"{name}.png", dpi=90, facecolor="white")
        plt.close(figure)
        with Image.open(HERE / f"{name}.png") as picture:  # a third of the size, and no difference to see
            small = picture.convert("RGB").quantize(128)
        small.save(HERE / f"{name}.png", optimize=True)
