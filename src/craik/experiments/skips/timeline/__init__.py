"""What a model with adaptive skip intervals predicts and what it skips."""
