"""Forward passes of student and teacher as functions of their parameters: hooks, noise, BatchNorm."""
