"""A teacher reads future trajectories of simulated bodies: returns of random actions, predicted by a plain network."""
