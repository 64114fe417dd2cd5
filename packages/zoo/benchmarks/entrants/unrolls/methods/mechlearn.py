"""mechlearn: adjoint, compiled; teacher in chunks of 12 batches."""

from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Method
from mechlearn_zoo_benchmarks.entrants.unrolls.ours import prepare_with

from mechlearn.distill import Adjoint

NOTE = "adjoint, compiled; teacher in chunks of 12 batches"
METHOD = Method("mechlearn", prepare_with(Adjoint(compile=True), chunk=12), package="mechlearn", note=NOTE, alone=True)
