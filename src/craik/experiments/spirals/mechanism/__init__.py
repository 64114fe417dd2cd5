"""AND-mask finds the mechanism that averaging misses: two spirals behind easy shortcuts."""
