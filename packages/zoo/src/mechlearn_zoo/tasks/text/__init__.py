"""Text that is always there: the standard library's source and documentation, and worlds that write sentences."""
