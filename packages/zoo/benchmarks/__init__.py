"""Benchmarks: ratios against plain backpropagation and against peers, measured in one run.

`mechlearn bench NAME` imports this folder as the package `mechlearn_zoo_benchmarks` (see `claimlab.cli.bench`). A benchmark is
one file of this folder; what benchmarks are made of lies in the folders below it. A benchmark defines

- `Config`, a frozen dataclass of settings with a sentence a field, from which the command line derives its options,
- `PRESETS`, with "full" and "quick" (seconds, for tests),
- `run(config, announce)`, which yields rows: flat dicts with at least the keys of `claimlab.cli.bench.KEYS`.
"""
