"""What the systems' networks are made of: perceptrons, stacks of members with a leading axis, saving."""
