"""Methods of the texts and of a digest of 29 papers, and their experiments: every figure and claim as one command."""
