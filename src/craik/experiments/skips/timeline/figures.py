"""A portion of a timeline (figures 2.7 and 2.8), truth beside prediction as an animation, and how often frames are matched."""

from matplotlib.figure import Figure

from craik.experiments.skips.timeline import pictures
from craik.experiments.skips.timeline.claims import share_matched
from craik.experiments.skips.timeline.filmstrip import draw_timeline
from craik.lab import COLOURS, Animation, Rows, number, panels


def figures(rows: Rows) -> dict[str, Figure | Animation]:
    """Draw a portion of a timeline of the most accurate seed, how often frames are matched, and truth beside prediction."""
    shown = rows.where(seed=most_accurate(rows))
    return {"timeline": draw_timeline(shown), "matches": draw_matches(rows), "truth-and-prediction": animate(shown)}


def most_accurate(rows: Rows) -> int:
    """Return the seed whose roll-outs show the right label most often; the first of equals."""
    trained = rows.where(kind="trained") or rows
    return int(number(max(trained, key=lambda row: float(str(row.get("accuracy", 0.0)))), "seed"))


def animate(rows: Rows) -> Animation:
    """Animate truth beside prediction, synchronised: the prediction stands still while it skips."""
    true, predicted = pictures.recorded(rows)
    newest, right = true[0], list[pictures.Picture]()
    at = {int(number(row, "t")): picture for row, picture in predicted}
    for t in range(len(true)):
        newest = at.get(t, newest)
        right.append(newest)
    caption = (
        "The whole test episode of the timeline: the truth on the left, in a solid frame; on the right, in a dashed frame and "
        "at the same time, the latest prediction that was matched. While the model skips, the prediction stands still."
    )
    return Animation(caption, pictures.gif(pictures.side_by_side(true, right)))


def draw_matches(rows: Rows) -> Figure:
    """Draw the share of slow and of fast frames that some prediction was matched with."""
    figure, (axes,) = panels(
        caption="Share of true frames that a prediction was matched with, on test episodes, a line for each seed. Slow frames: "
        "those in which the ball moves less than half as far as in its episode's median frame: it bounces and rolls.",
        height=2.6,
    )
    counts = rows.where(kind="skips")
    for row in counts:
        axes.plot([0, 1], [share_matched(row, "slow"), share_matched(row, "fast")], "o-", color=COLOURS["ours"], alpha=0.8)
    axes.set_xticks([0, 1], ["slow frames", "fast frames"])
    axes.set(xlim=(-0.5, 1.5), ylim=(0, 1), ylabel="share matched")
    return figure
