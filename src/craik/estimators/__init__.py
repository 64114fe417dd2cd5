"""For a person with a table from several sites: what the sites disagree about, whether agreement helps, and estimators."""
