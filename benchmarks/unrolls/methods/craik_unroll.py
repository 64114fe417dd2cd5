"""craik: hoisted teacher, no compiler."""

from craik_benchmarks.unrolls.methods import Method
from craik_benchmarks.unrolls.ours import prepare_with

METHOD = Method("craik, unroll", prepare_with("unroll"), package="craik", note="hoisted teacher, no compiler", long=False)
