"""What an experiment is; how it is run, kept, judged and shown."""
