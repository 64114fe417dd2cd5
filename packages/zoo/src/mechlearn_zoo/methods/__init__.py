"""Other people's methods, by field: one file and one function each."""
