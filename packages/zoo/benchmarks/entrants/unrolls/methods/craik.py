"""craik: adjoint, compiled; teacher in chunks of 12 batches."""

from craik_benchmarks.entrants.unrolls.methods import Method
from craik_benchmarks.entrants.unrolls.ours import prepare_with

from craik.distill import Adjoint

NOTE = "adjoint, compiled; teacher in chunks of 12 batches"
METHOD = Method(
    "craik",
    prepare_with(Adjoint(compile=True), chunk=12),
    package="craik",
    note=NOTE,
    alone=True,
)
