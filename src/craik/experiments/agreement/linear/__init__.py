"""Linear regression with one easy weight for each environment and one hard weight for all."""
