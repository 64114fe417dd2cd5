"""What the teacher is worth to a fresh student, and its learning signal, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, band, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOMAINS = {"fixed": ("one sub-task", "baseline"), "stream": ("a stream", "ours")}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw gains and lengths of the meta-gradient by stage."""
    figure, axes = panels(
        2,
        1,
        caption="Left: accuracy of a fresh student of another sub-task with the teacher as it is after each stage, less that "
        "without one. Right: mean length of the meta-gradient in the stage. Medians, with bands over seeds.",
        height=3.2,
    )
    for axis, key, title in zip(axes, ("gain", "signal"), ("gain of a fresh student", "the teacher's signal"), strict=True):
        for domain, (label, role) in _DOMAINS.items():
            some = [row for row in rows.where(domain=domain) if row.get(key) is not None]
            stages = sorted({int(row["stage"]) for row in some})  # pyright: ignore[reportArgumentType]  # whole numbers
            seeds = sorted({row["seed"] for row in some})  # pyright: ignore[reportArgumentType]
            curves = [[float(Rows(some).where(seed=seed, stage=stage)[key][0]) for stage in stages] for seed in seeds]
            if curves:
                band(axis, stages, curves, label, COLOURS[role])
        axis.set(title=title, xlabel="stage", xticks=sorted({int(stage) for stage in rows["stage"]}))
    axes[1].set_yscale("log")
    axes[0].axhline(0.0, color=COLOURS["reference"], linewidth=0.8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return {"stages": figure}
