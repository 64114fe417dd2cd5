"""mechlearn: teacher in chunks of 12 batches, no compiler."""

from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Method
from mechlearn_zoo_benchmarks.entrants.unrolls.ours import prepare_with

from mechlearn.distill import Adjoint

NOTE = "teacher in chunks of 12 batches, no compiler"
METHOD = Method("mechlearn, adjoint uncompiled", prepare_with(Adjoint(), chunk=12), package="mechlearn", note=NOTE, alone=True)
