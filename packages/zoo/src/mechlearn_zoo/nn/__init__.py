"""Networks and blocks that two rooms use; no task, no loop."""
