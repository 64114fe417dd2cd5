"""Task A's heat maps over dimensions and numbers of examples (figure 4.3b)."""

import numpy as np

from claimlab import Rows, number, panels
from mechlearn_zoo.learners.plots import Figure, table

LABELS = {
    "no-teacher": "no teacher", "ldt-fixed": "LDT, fixed split", "ldt-redrawn": "LDT, redrawn split",
    "ldt-truncated": "LDT, last 8 steps", "ldt-implicit": "LDT, implicit", "ldt-ragged": "LDT, own looks",
    "ldt-padded": "LDT, padded looks", "ldt-placebo": "LDT, others' looks",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the heat maps as printed (maximum over training) and by selection on held-out examples."""
    return {
        "heat-maps": heat_maps(rows, "as_printed", "Maximum test accuracy while training, as printed (figure 4.3b)"),
        "heat-maps-selected": heat_maps(rows, "selected", "Test accuracy at the time that is best on held-out examples"),
    }


def heat_maps(rows: Rows, key: str, what: str) -> Figure:
    """Draw one map a method: dimensions across, numbers of examples upwards, the mean over seeds as colour and number."""
    methods = [method for method in LABELS if rows.where(method=method)]
    across, up = (sorted({int(number(row, name)) for row in rows}) for name in ("inputs", "examples"))
    figure, all_axes = panels(
        len(methods), caption=f"{what}: mean over seeds. Chance is 0.50.", height=1.4 + 0.36 * max(4, len(up))
    )
    image = None
    for axes, method in zip(all_axes, methods, strict=True):
        cells = np.array([[_mean(rows, key, method=method, inputs=d, examples=n) for d in across] for n in up])
        image = table(axes, cells, across, up, "viridis", (0.5, 1.0))
        axes.invert_yaxis()
        axes.set(title=LABELS[method], xlabel="inputs D")
    all_axes[0].set_ylabel("training examples n")
    if image is not None:
        figure.colorbar(image, ax=all_axes, label="test accuracy", shrink=0.9)
    return figure


def _mean(rows: Rows, key: str, **values: str | int) -> float:
    return float(np.mean(rows.where(**values)[key]))
