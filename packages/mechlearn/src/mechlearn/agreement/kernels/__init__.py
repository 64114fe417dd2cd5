"""Kernels for what torch's own operators do in several passes; every one of them has a path in torch that does the same."""
