"""Agents in mazes: planning in unseen ones, bonuses that explore them, and what of a policy's gradient many of them agree on."""
