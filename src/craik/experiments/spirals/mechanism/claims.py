"""What is claimed of the two networks on the spirals."""

from craik.lab import Claim, OverSeeds, at_least, within


def final(key: str, method: str) -> OverSeeds:
    """Return the measure of a method's number at the end of training."""
    return OverSeeds(key, {"kind": "final", "method": method})


CLAIMS = (
    Claim(
        id="spirals.and-mask-accuracy",
        text="With the AND-mask the network fits the spirals, not the shortcuts: accuracy on o.o.d. test data is near 100 %.",
        source="thesis figure 3.6; paper figure 6",
        printed="about 1.00",
        measure=final("test_accuracy", "and-mask"),
        condition=at_least(0.95, of="test accuracy with the AND-mask, median over seeds,"),
        tried="A random search of table B.1's ranges, selected on held-out environments (spirals-search): batch 256 and L2 "
        "1e-5 do better than the printed batch 128 and L2 1e-4, and twice as many epochs better still. Seeds that fail have "
        "not converged: their training loss says so.",
    ),
    Claim(
        id="spirals.pooled-accuracy",
        text="With averaged gradients the network relies on the shortcuts: accuracy on o.o.d. test data is at chance.",
        source="thesis figure 3.6; paper figure 6",
        printed="about 0.50",
        measure=final("test_accuracy", "mean"),
        condition=within(0.05, 0.5, of="test accuracy with averaging, median over seeds,"),
    ),
    Claim(
        id="spirals.pooled-fits",
        text="The shortcuts explain the training data perfectly: averaging reaches a training accuracy near 100 %.",
        source="thesis figure 3.6; paper figure 6",
        printed="about 1.00",
        measure=final("train_accuracy", "mean"),
        condition=at_least(0.97, of="training accuracy with averaging, median over seeds,"),
    ),
)
