"""What is claimed of the patchwork, and how it is measured."""

from claimlab import Claim, Measurement, OverSeeds, Rows, at_most, bootstrap, high_at_most, low_at_least


def inconsistency(rows: Rows) -> Measurement | None:
    """Return abs(L_B - L_A) at theta_6 = -0.5, a lower bound of J: that point lies in A's set for a tiny epsilon."""
    found = rows.where(kind="loss", version="printed", theta_6=-0.5)
    return bootstrap([abs(b - a) for a, b in zip(found["loss_a"], found["loss_b"], strict=True)]) if found else None


def change_in_a(rows: Rows) -> Measurement | None:
    """Return the largest change of A's loss over all values of theta_6, median over seeds."""
    groups = rows.where(kind="loss", version="printed").by("seed")
    losses = [group["loss_a"] for group in groups.values()]
    return bootstrap([max(group) - min(group) for group in losses]) if losses else None


def _unexplained(environment: str, version: str) -> OverSeeds:
    return OverSeeds(f"unexplained_{environment}", {"kind": "loss", "version": version, "theta_6": 1.0})


_SOURCE = "thesis appendix B.1.1, figure B.1; paper, the same appendix"
_GOOD = at_most(0.1, of="mean squared error as a share of the target's variance in that environment")

CLAIMS = (
    Claim(
        id="patchwork.fits-a",
        text="theta* = (100, -50, 100, -75, 1, 1) provides a good fit for environment A.",
        source=_SOURCE,
        printed="small",
        measure=_unexplained("a", "printed"),
        condition=_GOOD,
        tried="The printed first step is at x = 0.5, where the staircase's rise from 0.4 to 0.5 is over, so that environment "
        "A, x < 0.5, hardly sees it. With theta_2 = -45 it is centred: patchwork.fits-a-centred.",
    ),
    Claim(
        id="patchwork.fits-a-centred",
        kind="erratum",
        text="With theta_2 = -45 instead of -50 it does.",
        source="our reading of thesis appendix B.1.1",
        measure=_unexplained("a", "centred"),
        condition=_GOOD,
    ),
    Claim(
        id="patchwork.fits-b",
        text="theta* provides a good fit for environment B.",
        source=_SOURCE,
        printed="small",
        measure=_unexplained("b", "printed"),
        condition=_GOOD,
    ),
    Claim(
        id="patchwork.a-unchanged",
        text="Changing theta_6 leaves the loss of environment A almost unchanged.",
        source=_SOURCE,
        printed="about 0",
        measure=change_in_a,
        condition=high_at_most(1e-6, of="by how much loss A changes over every theta_6 from 1 to -8"),
    ),
    Claim(
        id="patchwork.inconsistent",
        text="With theta_6 = -0.5 the loss of environment B is large, so theta* has a low consistency score.",
        source="thesis appendix B.1.1, equation 3.1; paper, the same appendix",
        printed="large",
        measure=inconsistency,
        condition=low_at_least(
            0.5,
            of="abs(L_B - L_A) there, a lower bound of the inconsistency (0.5 is a quarter of the target's range), "
            "median over seeds,",
        ),
    ),
)
