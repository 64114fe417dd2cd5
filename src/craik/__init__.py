"""craik: learning mechanistic models in PyTorch."""
