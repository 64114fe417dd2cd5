"""Training on the spirals behind shortcuts: what `conflict-spirals` and the needs of `spirals-sensitivity` share."""
