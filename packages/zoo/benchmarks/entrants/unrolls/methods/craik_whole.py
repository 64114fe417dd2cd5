"""craik: adjoint, compiled."""

from craik_benchmarks.entrants.unrolls.methods import Method
from craik_benchmarks.entrants.unrolls.ours import prepare_with

from craik.distill import Adjoint

NOTE = "adjoint, compiled"
METHOD = Method(
    "craik, teacher whole", prepare_with(Adjoint(compile=True)), package="craik", note=NOTE, alone=False, long=False
)
