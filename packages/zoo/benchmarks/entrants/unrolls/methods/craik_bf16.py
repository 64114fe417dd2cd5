"""craik: the compiled adjoint with the teacher in bfloat16, an approximation."""

import torch
from craik_benchmarks.entrants.unrolls.methods import Method
from craik_benchmarks.entrants.unrolls.ours import prepare_with

from craik.distill import Adjoint

NOTE = "adjoint, compiled; teacher in bfloat16, in chunks of 12 batches: an approximation"
PREPARE = prepare_with(Adjoint(compile=True), chunk=12, autocast=torch.bfloat16)
METHOD = Method("craik, teacher in bfloat16", PREPARE, package="craik", note=NOTE, alone=False, long=False, exact=False)
