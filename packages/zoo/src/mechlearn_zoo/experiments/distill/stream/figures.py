"""What the teacher is worth to a fresh student, and its learning signal, stage by stage."""

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.learners.plots import Figure, legend_below, level

_DOMAINS = {"fixed": ("one sub-task", "baseline"), "stream": ("a stream", "ours")}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw gains and lengths of the meta-gradient by stage."""
    figure, axes = panels(
        2,
        caption="Left: accuracy of a fresh student of another sub-task with the teacher as it is after each stage, less that "
        "without one. Right: mean length of the meta-gradient in the stage. Medians, with bands over seeds.",
        height=3.2,
    )
    for axis, key, title in zip(axes, ("gain", "signal"), ("gain of a fresh student", "the teacher's signal"), strict=True):
        for domain, (label, role) in _DOMAINS.items():
            some = rows.where(lambda row, key=key: row.get(key) is not None, domain=domain)
            if some:
                band(axis, *some.curves("stage", key), label, COLOURS[role])
        axis.set(title=title, xlabel="stage", xticks=sorted({int(stage) for stage in rows["stage"]}))
    axes[1].set_yscale("log")
    level(axes[0], 0.0, style="-")
    legend_below(figure, axes[0], 2)
    return {"stages": figure}
