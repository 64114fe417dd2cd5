"""What the optimisers' benchmark is made of: workloads, the literal algorithm, and one file for each optimiser."""
