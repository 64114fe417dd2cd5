"""The worlds that the systems are tried on: a seed in, tensors out."""
