"""What the benchmarks of the three systems are made of: for each, its problems and one file for each method that enters."""
