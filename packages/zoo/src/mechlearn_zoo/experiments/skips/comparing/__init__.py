"""What comparisons of ways to skip share: networks, a training loop, budgets, and outcomes read off roll-outs."""
