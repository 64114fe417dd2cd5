"""mechlearn: the compiled adjoint with the teacher in bfloat16, an approximation."""

import torch
from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Method
from mechlearn_zoo_benchmarks.entrants.unrolls.ours import prepare_with

from mechlearn.distill import Adjoint

NOTE = "adjoint, compiled; teacher in bfloat16, in chunks of 12 batches: an approximation"
PREPARE = prepare_with(Adjoint(compile=True), chunk=12, autocast=torch.bfloat16)
METHOD = Method("mechlearn, teacher in bfloat16", PREPARE, package="mechlearn", note=NOTE, alone=False, long=False, exact=False)
