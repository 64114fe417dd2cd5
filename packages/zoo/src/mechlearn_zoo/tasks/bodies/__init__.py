"""Simulated bodies: rollouts with MuJoCo."""
