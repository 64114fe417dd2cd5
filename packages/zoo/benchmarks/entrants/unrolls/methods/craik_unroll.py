"""craik: hoisted teacher, no compiler."""

from craik_benchmarks.entrants.unrolls.methods import Method
from craik_benchmarks.entrants.unrolls.ours import prepare_with

from craik.distill import Unroll

METHOD = Method("craik, unroll", prepare_with(Unroll()), package="craik", note="hoisted teacher, no compiler", long=False)
