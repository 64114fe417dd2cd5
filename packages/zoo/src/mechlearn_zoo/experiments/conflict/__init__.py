"""Rules that average until disagreement is established: where they win, cost nothing, and fail (ours, past the thesis)."""
