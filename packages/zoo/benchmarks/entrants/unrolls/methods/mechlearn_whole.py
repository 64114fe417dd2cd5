"""mechlearn: adjoint, compiled."""

from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Method
from mechlearn_zoo_benchmarks.entrants.unrolls.ours import prepare_with

from mechlearn.distill import Adjoint

NOTE = "adjoint, compiled"
METHOD = Method(
    "mechlearn, teacher whole", prepare_with(Adjoint(compile=True)), package="mechlearn", note=NOTE, alone=False, long=False
)
