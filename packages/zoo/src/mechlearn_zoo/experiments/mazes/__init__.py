"""Agents in mazes: planning in unseen ones, bonuses that explore them."""
