"""The correlations against the threshold (figure 3.7)."""

from claimlab import COLOURS, Rows, band, panels
from mechlearn_zoo.experiments.spirals.gradient_correlation.measures import ENOUGH, telling
from mechlearn_zoo.experiments.spirals.gradient_correlation.run import Config
from mechlearn_zoo.learners.plots import Figure

_INIT = {"default": "PyTorch's default", "kaiming": "He-normal (kaiming)"}
_VARIANCE = {False: "not scaled, as printed", True: "scaled to unit variance"}

READING = (
    f"Reading of the texts, where the run's name adds no other init or unit_variance: initial weights {_INIT[Config().init]}, "
    f"spirals {_VARIANCE[Config().unit_variance]}, and N(0, 0.1) of the shortcuts as a standard deviation of "
    f"{Config().shortcut_scale:g}. 'init kaiming' in the name is the published code's weights, 'unit_variance true' its "
    "scaling."
)
"""Of rows alone a figure cannot tell; the run's name has what differs from the preset."""


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the correlations against the threshold (figure 3.7)."""
    return {"correlations": correlations(rows)}


def correlations(rows: Rows) -> Figure:
    """Draw the correlations against the threshold, XOR-mask on the left and AND-mask on the right (figure 3.7)."""
    figure, all_axes = panels(
        3,
        caption="Correlation of the combined gradient with that of the mechanism alone and of the shortcuts alone, "
        f"over the components that are left, where {ENOUGH:.0%} or more are; median over seeds with range. The XOR-mask at "
        f"threshold 0 leaves nothing, the AND-mask everything. Right: share of components that is left. {READING}",
        height=2.8,
    )
    for axes, method, title in zip(all_axes, ("xor-mask", "and-mask"), ("XOR-mask", "AND-mask"), strict=False):
        for signal, role in (("mechanism", "ours"), ("shortcut", "baseline")):
            band(axes, *telling(rows, method).curves("threshold", signal), signal, COLOURS[role])
        axes.set(title=title, xlabel="threshold", ylim=(-1.02, 1.02), xlim=(0, 1))
    all_axes[0].set_ylabel("correlation")
    all_axes[1].legend(loc="lower left")
    for method, role in (("and-mask", "ink"), ("xor-mask", "reference")):
        band(all_axes[2], *rows.where(method=method).curves("threshold", "survivors"), method, COLOURS[role])
    all_axes[2].set(title="components left", xlabel="threshold", ylim=(0, 1.02), xlim=(0, 1))
    all_axes[2].legend(loc="center right")
    return figure
