"""What is claimed of counting."""

from claimlab import Claim, Measurement, Rows, bootstrap, condition


def final(rows: Rows) -> Measurement:
    """Return the last value of each seed, median over seeds."""
    return bootstrap([group["value"][-1] for group in rows.by("seed").values()])


CLAIMS = (
    Claim(
        id="counter.high",
        text="The walk <ends> high.",
        source="figure 0",
        printed="about 1",
        measure=final,
        condition=condition("last value above 1"),
    ),
    Claim(
        id="counter.low",
        kind="ours",
        text="It ends low & slow.",
        source="table 0",
        measure=final,
        condition=condition("last value below 0"),
        tried="Smaller <steps>.",
    ),
    Claim(
        id="counter.far",
        text="It ends far.",
        source="table 1",
        printed="9",
        measure=final,
        condition=condition("last value above -1").at("paper"),
    ),
)
