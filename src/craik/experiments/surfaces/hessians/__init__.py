"""Hessians that disagree: arithmetic against geometric mean, printed volumes, and proposition 3's bound."""
