"""What `mechlearn bench skips` measures: small worlds, a network, and every way to match and to step."""
