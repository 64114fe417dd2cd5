"""A teacher undoes signs that no student can predict: task A over dimensions and numbers of examples."""
