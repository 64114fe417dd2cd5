"""Behavioural cloning over levels: Adam with the temporal AND-mask beside Adam, both searched on equal budgets."""
