"""Audits of robustness: what predicts that attacks transfer, what poison does, what a frozen model can be made to do."""
