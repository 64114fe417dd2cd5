"""What is claimed of the correlations, and how it is measured."""

from craik.lab import Claim, Measurement, OverSeeds, Rows, bootstrap, high_below, low_above, number, within

ENOUGH = 5
"""Components over which a correlation is taken; figure and claims leave out masks that keep fewer.

So few because a mask that asks for full agreement keeps a handful of some 140,000: with many more asked for, nothing would
be said of thresholds near 1, which is where the texts' claims are. One seed's correlation over a handful is noisy; the
claims' intervals are over seeds.
"""


def telling(rows: Rows, method: str, layer: str = "") -> Rows:
    """Return a method's rows in which enough components are left, of all or of the layer "first_", to say something."""
    keys = (f"{layer}mechanism", f"{layer}shortcut")
    some = rows.where(method=method).where(lambda row: number(row, f"{layer}left") >= ENOUGH)
    return some.where(lambda row: all(row[key] is not None for key in keys))


def strictest(rows: Rows, method: str, layer: str = "") -> Rows:
    """Return each seed's row of the strictest mask that tells: the AND-mask's greatest threshold, the XOR-mask's least."""
    groups = telling(rows, method, layer).by("seed").values()
    ordered = [sorted(group, key=lambda row: number(row, "threshold")) for group in groups]
    return Rows(group[-1 if method == "and-mask" else 0] for group in ordered)


def lead(rows: Rows) -> Measurement | None:
    """Return by how much the correlation with the mechanism exceeds that with the shortcuts; median over seeds."""
    leads = [number(row, "mechanism") - number(row, "shortcut") for row in rows]
    return bootstrap(leads) if leads else None


def change(rows: Rows, method: str, signal: str, layer: str = "") -> Measurement | None:
    """Return a correlation's change from averaging to the strictest mask that tells; median over seeds."""
    changes: list[float] = []
    for group in rows.by("seed").values():
        averages, ends = group.where(method="and-mask", threshold=0.0), strictest(group, method, layer)
        key = layer + signal
        changes += [number(end, key) - number(average, key) for average, end in zip(averages, ends, strict=False)]
    return bootstrap(changes) if changes else None


def sharper(rows: Rows) -> Measurement | None:
    """Return the XOR-mask's change of the mechanism's correlation less that of the shortcuts', at the strictest mask."""
    both = [
        (change(group, "xor-mask", "mechanism"), change(group, "xor-mask", "shortcut")) for group in rows.by("seed").values()
    ]
    differences = [mechanism.value - shortcut.value for mechanism, shortcut in both if mechanism and shortcut]
    return bootstrap(differences) if differences else None


def unmoved(rows: Rows) -> Measurement | None:
    """Return the change of the correlation with the shortcuts from averaging to PCGrad; median over seeds."""
    changes: list[float] = []
    for group in rows.by("seed").values():
        averages, ends = group.where(method="and-mask", threshold=0.0), group.where(method="pcgrad")
        changes += [number(end, "shortcut") - number(mean, "shortcut") for mean, end in zip(averages, ends, strict=False)]
    return bootstrap(changes) if changes else None


_SOURCE = "thesis section 3.3.1 and figure 3.7; paper section 3.1 and figure 7"
_NEAR_ONE = f"the greatest threshold that leaves {ENOUGH} components or more"

_TRIED = (
    "It hangs on the spirals' scale and on the initial weights. The first version had the published code's for training "
    "(--unit-variance true --init kaiming: spirals of unit variance, He-normal weights), with shortcuts of standard deviation "
    "0.1, and left out masks that keep fewer than 50 components; tried with it were shortcuts of standard deviation 0.316 (the "
    "variance 0.1) and 1, 64 and 1024 examples of each environment, an output without offset, and weights without biases. What "
    "is the default now, the texts' spirals without any scaling and PyTorch's initial weights, was found after those results "
    "had been seen. Either alone (--init kaiming or --unit-variance true) is not enough for all claims. Masks count from "
    f"{ENOUGH} components on as full agreement leaves so few; asking for 50 again costs what is said of thresholds near 1."
)

CLAIMS = (
    Claim(
        id="gradient-correlation.average-mechanism",
        text="The mechanism's signal is present in the average gradient: its correlation is about 0.4 at threshold 0.",
        source=_SOURCE,
        printed="about 0.4",
        measure=OverSeeds("mechanism", {"method": "and-mask", "threshold": 0.0}),
        condition=within(0.1, 0.4, of="correlation with the mechanism at threshold 0, median over seeds,"),
        tried=_TRIED + " N(0, 0.1) is read as a standard deviation; --shortcut-scale 0.316 reads it as a variance.",
    ),
    Claim(
        id="gradient-correlation.drowned",
        text="In the average gradient the mechanism's signal is smaller than the shortcuts'.",
        source=_SOURCE,
        printed="below 0",
        measure=lambda rows: lead(rows.where(method="and-mask", threshold=0.0)),
        condition=high_below(0, of="correlation with the mechanism less that with the shortcuts, at threshold 0,"),
        tried=_TRIED,
    ),
    Claim(
        id="gradient-correlation.and-suppresses",
        text="Raising the AND-mask's threshold suppresses the shortcuts' gradients.",
        source=_SOURCE,
        printed="below 0",
        measure=lambda rows: change(rows, "and-mask", "shortcut"),
        condition=high_below(0, of=f"change of the correlation with the shortcuts from threshold 0 to {_NEAR_ONE},"),
        tried=_TRIED,
    ),
    Claim(
        id="gradient-correlation.and-suppresses-first",
        kind="ours",
        text="It does so in the weights of the first layer, too, which belong to single inputs.",
        source="our reading of thesis figure 3.7",
        measure=lambda rows: change(rows, "and-mask", "shortcut", "first_"),
        condition=high_below(
            0,
            of="change of the correlation with the shortcuts in the first layer's weights, from threshold 0 to "
            f"{_NEAR_ONE} of them,",
        ),
        tried=_TRIED,
    ),
    Claim(
        id="gradient-correlation.and-keeps",
        text="At a threshold near 1 most of what remains is the mechanism's signal.",
        source=_SOURCE,
        printed="above 0",
        measure=lambda rows: lead(strictest(rows, "and-mask")),
        condition=low_above(0, of=f"correlation with the mechanism less that with the shortcuts, at {_NEAR_ONE},"),
        tried=_TRIED,
    ),
    Claim(
        id="gradient-correlation.xor",
        text="The XOR-mask makes the correlation with the mechanism fall more sharply than with the shortcuts.",
        source=_SOURCE,
        printed="below 0",
        measure=sharper,
        condition=high_below(
            0,
            of="change of the mechanism's correlation less that of the shortcuts', at the least threshold that leaves "
            f"{ENOUGH} components or more,",
        ),
        tried=_TRIED,
    ),
    Claim(
        id="gradient-correlation.global",
        kind="ours",
        text="The cosine is a global property: PCGrad, which asks it of whole gradients, leaves the shortcuts' part in.",
        source="ours, after thesis section 3.4 (i): cosine similarity is a 'global' property of the gradients",
        measure=unmoved,
        condition=low_above(-0.05, of="change of the correlation with the shortcuts from averaging to PCGrad,").at("cosines"),
        tried="Written down before any run.",
    ),
    Claim(
        id="gradient-correlation.local",
        kind="control",
        text="Where the AND-mask takes it out.",
        source=_SOURCE,
        measure=lambda rows: change(rows, "and-mask", "shortcut"),
        condition=high_below(-0.05, of=f"change of that correlation from averaging to {_NEAR_ONE},").at("cosines"),
        tried="The data and seeds are those of gradient-correlation.and-suppresses.",
    ),
)
