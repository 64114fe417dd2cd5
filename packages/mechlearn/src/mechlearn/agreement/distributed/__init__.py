"""Agreement over processes: each rank has environments of its own (docs/agreement/distributed.md)."""
