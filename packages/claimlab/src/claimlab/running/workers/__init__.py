"""Seeds in processes of their own."""
