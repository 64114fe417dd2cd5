"""Each merge's gain over averaging, a panel per family."""

from claimlab import Rows, panels
from mechlearn_zoo.experiments.agreement.merging.run import KINDS, METHODS, NETWORKS
from mechlearn_zoo.learners.plots import Figure, level, lines_of_dots


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the accuracies less averaging's, a dot per seed."""
    figure, all_axes = panels(
        len(KINDS), len(NETWORKS), height=4.6,
        caption="Test accuracy less averaging's by method, a dot per seed. Columns: what the sources see. Rows: networks.",
    )  # fmt: skip
    names = ["start", *list(METHODS)[1:]]
    for (network, kind), axes in zip(((n, k) for n in NETWORKS for k in KINDS), all_axes, strict=True):
        own = rows.where(family=kind, network=network)
        base = dict(zip(own.where(method="averaging")["seed"], own.where(method="averaging")["accuracy"], strict=True))

        def gains(name: str, own: Rows = own, base: dict[float, float] = base) -> list[float]:
            found = own.where(method=name)
            return [value - base[seed] for seed, value in zip(found["seed"], found["accuracy"], strict=True)]

        lines_of_dots(axes, {name: (gains(name), "ours") for name in names}, named=kind == KINDS[0])
        level(axes, 0.0, upright=True)
        axes.set_title(f"{kind}, {network}")
    return {"merging": figure}
