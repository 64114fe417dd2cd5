"""What the graph of a call's losses proves: which environment each slice of a gradient depends on, node by node."""
