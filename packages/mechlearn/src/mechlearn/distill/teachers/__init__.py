"""Teachers: what they give out, two ready ones, and how one is run over all batches of an unroll."""
