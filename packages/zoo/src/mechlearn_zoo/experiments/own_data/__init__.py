"""Evidence on data that nobody here made up for the purpose: does it help anyone?"""
