"""Success by arm, and one unseen task: the demonstration and what the network built from it."""

from claimlab import COLOURS, Rows, colour, number, panels
from mechlearn_zoo.learners.plots import Figure, columns, first_seed

_LABELS = {
    "attention": "attention", "flat": "flat network", "snapshot": "last frame", "blind": "no demonstration",
    "fewer-blocks": "fewer blocks",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all seeds' success and the first seed's film."""
    return {"success": _success(rows), "film": _film(first_seed(rows))}


def _success(rows: Rows) -> Figure:
    figure, (axis,) = panels(1, 1, caption="Share of tasks built in closed loop from a new start; a dot a seed.", height=2.6)
    built = {
        (f"{name} tasks", role): [rows.where(kind="final", arm=arm, tasks=name)["success"] for arm in _LABELS]
        for name, role in (("seen", "ours"), ("unseen", "baseline"))
    }
    columns(axis, list(_LABELS.values()), built)
    axis.set(ylim=(-0.03, 1.03), ylabel="share built")
    axis.legend()
    return figure


def _film(rows: Rows) -> Figure:
    from matplotlib.patches import Rectangle  # noqa: PLC0415  # a worker starts without it

    films = rows.where(kind="film").by("who")
    steps = int(max(max(group["step"]) for group in films.values())) + 1
    caption = "An unseen task, seen from the side: the demonstration (above) and what was built from another start."
    figure, axes = panels(steps, 2, caption=caption, height=2.8)
    for row, (who, group) in enumerate(films.items()):
        slots = sorted(group.where(step=0)["x"])  # blocks side by side, in the order in which they lie
        for step in range(steps):
            axis = axes[row * steps + step]
            for one in group.where(step=step):
                block, x, z = int(number(one, "block")), float(slots.index(number(one, "x"))), number(one, "z")
                axis.add_patch(Rectangle((x - 0.46, z), 0.92, 0.95, color=colour(block)))
                axis.text(x, z + 0.45, "ABCDEFG"[block], ha="center", va="center", color="white", fontsize=7)
            if not len(group.where(step=step)):
                axis.axis("off")
                continue
            axis.axhline(0, color=COLOURS["ink"], linewidth=0.8)
            axis.set_xlim(-0.7, len(slots) - 0.3)
            axis.set_ylim(-0.1, len(slots))
            axis.axis("off")
            axis.set_title(f"{who}" if step == 0 else f"move {step}", fontsize=7)
    return figure
