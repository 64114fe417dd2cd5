"""craik: teacher in chunks of 12 batches, no compiler."""

from craik_benchmarks.entrants.unrolls.methods import Method
from craik_benchmarks.entrants.unrolls.ours import prepare_with

from craik.distill import Adjoint

NOTE = "teacher in chunks of 12 batches, no compiler"
METHOD = Method(
    "craik, adjoint uncompiled",
    prepare_with(Adjoint(), chunk=12),
    package="craik",
    note=NOTE,
    alone=True,
)
