"""mechlearn: hoisted teacher, no compiler."""

from mechlearn_zoo_benchmarks.entrants.unrolls.methods import Method
from mechlearn_zoo_benchmarks.entrants.unrolls.ours import prepare_with

from mechlearn.distill import Unroll

METHOD = Method(
    "mechlearn, unroll", prepare_with(Unroll()), package="mechlearn", note="hoisted teacher, no compiler", long=False
)
