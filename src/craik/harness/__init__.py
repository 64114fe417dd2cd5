"""The harness: from a config to recorded rows, judged claims, figures and a report.

The way of a run through the files: `discovery` finds the experiment, `settings` and `values` read its fields from the
command line, `plans` decides what is to be computed, named by its config and `sources`. `runs` computes and records it:
`workers` run the seeds, `rows` and `storage` keep them, `history` and `provenance` say what they came from, `claims` judges,
`figures` draws. `recorded` reads finished runs for `report` and `markdown`; `terminal` and `wording` are for people.
"""
