"""What the agreement benchmark is made of: problems, workloads, the reference, and one file for each method."""
