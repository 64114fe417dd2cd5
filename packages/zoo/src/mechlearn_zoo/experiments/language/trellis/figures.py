"""What theorem 1 leaves between two networks, accuracy on permuted digits and likelihood of code, by model."""

from claimlab import Rows, panels
from mechlearn_zoo.learners.plots import Figure, columns

NAMES = {"trellis": "trellis", "untied": "untied", "lstm": "LSTM"}


THEOREM = {"zero": "biases 0", "warm": "switched\non (ours)", "biased": "added"}
"""How the recurrent network's upper biases go over, by the rows' keys."""


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw all three, a dot a seed."""
    figure, (first, *axes) = panels(
        3, height=3.0, caption="Left: greatest difference between a recurrent network and its trellis network, by how biases "
        "go over. Then digits pixel by pixel in a random order (higher is better) and code (lower is better), bars are "
        "means over seeds, with the number of parameters below; dots are seeds.",
    )  # fmt: skip
    gaps = [rows.where(kind="theorem")[key] for key in THEOREM]
    columns(first, list(THEOREM.values()), {("", "third"): gaps}, fontsize=8)
    first.set(yscale="log", ylim=(1e-17, 1))
    first.set_title("theorem 1: difference", fontsize=10)
    for axis, kind, key in zip(axes, ("digits", "code"), ("accuracy", "nll"), strict=True):
        some = rows.where(kind=kind)
        present = [name for name in NAMES if len(some.where(model=name))]
        sizes = [some.where(model=name)["parameters"][0] / 1000 for name in present]
        names = [f"{NAMES[name]}\n{size:.0f} k" for name, size in zip(present, sizes, strict=True)]
        columns(axis, names, {("", "ours"): [some.where(model=name)[key] for name in present]}, bars=True, fontsize=8)
    axes[0].set_title("digits: accuracy", fontsize=10)
    axes[1].set_title("code: NLL per token", fontsize=10)
    return {"models": figure}
