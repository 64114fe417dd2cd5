"""craik: segments of about sqrt(n) steps that are run again; teacher in chunks of 12 batches, no compiler."""

from craik_benchmarks.entrants.unrolls.methods import Method
from craik_benchmarks.entrants.unrolls.ours import prepare_with

from craik.distill import Checkpoint

NOTE = "segments of about sqrt(n) steps, teacher in chunks of 12 batches, no compiler"
METHOD = Method("craik, checkpoint", prepare_with(Checkpoint(), chunk=12), package="craik", note=NOTE)
