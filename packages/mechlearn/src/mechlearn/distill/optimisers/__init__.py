"""Inner optimisers: the update rule of the student as a differentiable function."""
