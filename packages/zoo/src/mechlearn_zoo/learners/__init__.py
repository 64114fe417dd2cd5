"""Training loops that experiments of several families share."""
