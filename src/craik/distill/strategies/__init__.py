"""How the unroll is differentiated: one file a way, and the inner problem that they share."""
