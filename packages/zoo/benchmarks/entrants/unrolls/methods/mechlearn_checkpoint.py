"""mechlearn: segments of about sqrt(n) steps that are run again; teacher in chunks of 12 batches, no compiler."""

from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Method
from mechlearn_zoo_benchmarks.entrants.unrolls.ours import prepare_with

from mechlearn.distill import Checkpoint

NOTE = "segments of about sqrt(n) steps, teacher in chunks of 12 batches, no compiler"
METHOD = Method("mechlearn, checkpoint", prepare_with(Checkpoint(), chunk=12), package="mechlearn", note=NOTE)
