"""Every figure, table and claim of the papers as one folder and one command; `mechlearn list` shows what this package holds."""

PROGRAM = "mechlearn"
"""The command that searches this package."""

SOURCES = ("mechlearn",)
"""Whose code counts as these experiments' source, beside their own package's and the lab's."""

FORMERLY = ("src/craik", "craik.experiments", "craik.lab.experiment")
"""Where this source was until version 0.2: its folder in the checkout, its name, the module that loaded its experiments."""
