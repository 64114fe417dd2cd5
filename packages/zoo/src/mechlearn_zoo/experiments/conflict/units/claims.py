"""What is claimed of the linear unit tests; written before any recorded run."""

from claimlab import Claim, Least, Measure, Measurement, Rows, above, bootstrap

_SOURCE = "ours; issue 'rules that test for conflict'"


def worst(example: str, method: str) -> Measure:
    """Return a measure: a method's largest test error on an example over the numbers of environments, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        groups = rows.where(kind="final", example=example, method=method).by("seed").values()
        found = [max(group["test_error"]) for group in groups]
        return bootstrap(found) if found else None

    return measure


CLAIMS = (
    Claim(
        id="conflict-units.decay",
        text="Without decay it fails there.",
        source=_SOURCE,
        measure=worst("margin", "homogeneous"),
        condition=above(0.1, of="larger test error without decay, median over seeds,"),
        kind="control",
    ).also_stopped(Least, trainings="it"),
)
